"""What more threads are worth to alpha-beta at equal time: a network against itself with one thread.

    python benchmarks/strength/threads.py ckai --threads 2 --at 50ms --at 200ms
    python benchmarks/strength/threads.py ckai --threads 8 --at 1s --games 40 --tables 4

One game at a time, so that all threads have cores of their own; every opening is played twice with the
colours swapped. First the positions searched per second, over the openings.
"""

from statistics import median

import click

from ckai.cli.strength.arena import elo_text
from ckai.datasets.machine import available_cores
from ckai.datasets.tables import Tables
from ckai.models.pretrained import network_path
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.players.alphabeta import NetworkAlphaBetaPlayer
from ckai.rl.players.parsing import PlayerSpec


@click.command()
@click.argument("network")
@click.option("--threads", default=available_cores(), show_default=True, help="Threads of the first player.")
@click.option("--at", "limits", multiple=True, default=["50ms"], show_default=True, help="Time a move.")
@click.option("--games", default=100, show_default=True, help="Games of each match, an even number.")
@click.option("--seed", default=0, show_default=True, help="Seed of the openings.")
@click.option("--tables", default=0, show_default=True, help="Use N-piece tablebases; 0: none.")
def main(network: str, threads: int, limits: tuple[str, ...], games: int, seed: int, tables: int) -> None:
    """Measure the speed, and play a match at each time."""
    evaluator = load_evaluator(network_path(network), "integers", game=DEFAULT_GAME.name)
    tablebases = Tables.open(tables) if tables else None
    openings = draw_openings(games // 2, seed)
    for number in (1, threads):
        search = AlphaBetaSearch(evaluator, threads=number)
        speeds = []
        for position in openings[:10]:
            search.forget()
            speeds.append(search.search(DEFAULT_GAME.state(position), seconds=0.5).nodes / 0.5)
        print(f"{number} threads: {median(speeds):,.0f} positions/s", flush=True)
    for at in limits:
        seconds = PlayerSpec.read(f"network@{at}").seconds
        one, more = (
            NetworkAlphaBetaPlayer(evaluator, seconds, tables=tablebases, threads=n) for n in (1, threads)
        )
        result = play_match(more, one, openings, threads=1)
        counts = result.summary()
        print(
            f"{at}: +{counts['wins']} ={counts['draws']} -{counts['losses']}, "
            f"Elo {elo_text(result.pairs.elo, *result.pairs.interval)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
