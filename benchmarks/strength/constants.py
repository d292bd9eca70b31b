"""What the constants of the search are worth: a network against itself with other ones.

    python benchmarks/strength/constants.py best.ckpt --at 100 --at 50ms --try c_init=1 --against c_init=4
    python benchmarks/strength/constants.py best.ckpt --try c_init=1,c_base=100
    python benchmarks/strength/constants.py runs/go/best.ckpt --games 60 --try c_init=0.6 --against c_init=1

Every opening is played twice with the colours swapped; all but the constants is the same. What is not
named keeps the default of the search.
"""

import click
from rich.console import Console
from rich.table import Table

from ckai.datasets.tables import Tables
from ckai.models.checkpoint import load_network
from ckai.models.pretrained import network_path
from ckai.rl.engine.limit import EngineText, Limit
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.matches.elo import elo_text
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings
from ckai.rl.search.selection import SearchConstants


class Constants(click.ParamType):
    """Constants of the search as text, `NAME=NUMBER,NAME=NUMBER`; `default` names none."""

    name = "NAME=NUMBER,..."

    def __init__(self, *others: str) -> None:
        """Read the fields of `SearchConstants`, and numbers of other names."""
        self.names = (*others, *SearchConstants._fields)

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, float]:
        """Return the numbers by name."""
        pairs = [pair.partition("=") for pair in value.split(",")] if value != "default" else []
        for name, _, number in pairs:
            if name not in self.names:
                self.fail(f"expected one of {', '.join(self.names)}, found '{name}'", param, ctx)
            click.FLOAT.convert(number, param, ctx)
        return {name: float(number) for name, _, number in pairs}


@click.command()
@click.argument("network")
@click.option("--try", "tried", multiple=True, required=True, type=Constants(), help="Constants to try.")
@click.option("--against", type=Constants(), default="default", show_default=True, help="The opponent's.")
@click.option("--at", "limits", multiple=True, default=["100"], show_default=True, help="Visits or time.")
@click.option("--games", default=200, show_default=True, help="Games of each match, an even number.")
@click.option("--seed", default=0, show_default=True, help="Seed of the openings.")
@click.option("--tables", default=0, show_default=True, help="Use N-piece tablebases; 0: none.")
@click.option("--threads", default=1, show_default=True)
@click.option("--evaluator", default="auto", show_default=True)
def main(
    network: str,
    tried: tuple[dict[str, float], ...],
    against: dict[str, float],
    limits: tuple[str, ...],
    games: int,
    seed: int,
    tables: int,
    threads: int,
    evaluator: str,
) -> None:
    """Play the matches and print a line for each, from the view of the constants tried."""
    file = network_path(network)
    spec = get_game(load_network(file, game=None).encode.GAME)
    loaded = load_evaluator(file, evaluator, threads=threads, game=spec.name)
    tablebases = Tables.open(tables) if tables else None
    openings = draw_openings(games // 2, seed, spec)
    usual = SearchConstants(**spec.search_defaults)

    def player(changed: dict[str, float], limit: Limit | None) -> TreeEngine:
        constants = usual._replace(**changed)
        engine = TreeEngine(loaded, constants=constants, tables=tablebases, spec=spec, nodes=1024)
        engine.limit = limit
        return engine

    table = Table("at", "constants", "won", "drawn", "lost", "Elo, 95 %", title=f"against {text(against)}")
    for at in limits:
        limit = EngineText.read(f"network@{at}").limit
        for changed in tried:
            players = player(changed, limit), player(against, limit)
            result = play_match(*players, openings, threads=threads, spec=spec)
            counts = [str(result.summary()[name]) for name in ("wins", "draws", "losses")]
            elo = elo_text(result.pairs.elo, *result.pairs.interval)
            table.add_row(at, text(changed), *counts, elo)
            print(at, text(changed), "+" + counts[0], "=" + counts[1], "-" + counts[2], elo, flush=True)
    Console().print(table)


def text(changed: dict[str, float]) -> str:
    """Return constants as they are written on the command line."""
    return ",".join(f"{name}={number:g}" for name, number in changed.items()) or "default"


if __name__ == "__main__":
    main()
