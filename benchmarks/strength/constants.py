"""What the exploration constant of PUCT is worth: a network against itself with another constant.

    python benchmarks/strength/constants.py best.ckpt --sims 100 --c-puct 1,2 --against 4
    python benchmarks/strength/constants.py runs/go/best.ckpt --games 60 --c-puct 0.6,1.5 --against 1

Every opening is played twice with the colours swapped; all but the constants is the same.
"""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from ckai.datasets.tables import Tables
from ckai.models.checkpoint import load_network
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.matches.players import SearchPlayer
from ckai.rl.search.selection import SearchConstants


@click.command()
@click.argument("network", type=click.Path(exists=True, path_type=Path))
@click.option("--c-puct", "tried", default="1,2", show_default=True, help="Constants to try.")
@click.option("--against", default=4.0, show_default=True, help="Constant of the opponent.")
@click.option("--sims", default="100", show_default=True, help="Visits per move, one number or several.")
@click.option("--games", default=200, show_default=True, help="Games of each match, an even number.")
@click.option("--seed", default=0, show_default=True, help="Seed of the openings.")
@click.option("--tables", default=0, show_default=True, help="Use N-piece tablebases; 0: none.")
@click.option("--threads", default=1, show_default=True)
@click.option("--evaluator", default="auto", show_default=True)
def main(
    network: Path,
    tried: str,
    against: float,
    sims: str,
    games: int,
    seed: int,
    tables: int,
    threads: int,
    evaluator: str,
) -> None:
    """Play the matches and print a table."""
    spec = get_game(load_network(network, game=None).encode.GAME)
    loaded = load_evaluator(network, evaluator, batch=games, threads=threads, game=spec.name)
    tablebases = Tables.open(tables) if tables else None
    openings = draw_openings(games // 2, seed, spec)

    def player(constant: float, visits: int) -> SearchPlayer:
        return SearchPlayer(loaded, visits, SearchConstants(constant), tablebases, spec=spec)

    table = Table(
        "visits", "c_puct", "won", "drawn", "lost", "Elo, 95 %", title=f"against c_puct {against:g}"
    )
    for visits in map(int, sims.split(",")):
        for constant in map(float, tried.split(",")):
            players = player(constant, visits), player(against, visits)
            result = play_match(*players, openings, threads=threads, spec=spec)
            low, high = result.pairs.interval
            counts = (str(result.summary()[name]) for name in ("wins", "draws", "losses"))
            elo = f"{result.pairs.elo:+.0f} ({low:+.0f} to {high:+.0f})"
            table.add_row(str(visits), f"{constant:g}", *counts, elo)
    Console().print(table)


if __name__ == "__main__":
    main()
