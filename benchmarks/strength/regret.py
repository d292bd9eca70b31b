"""What do the moves of a search lose, at equal time? Finer than a match of the same length.

    python benchmarks/strength/regret.py make data/games.parquet small -o regret.json
    python benchmarks/strength/regret.py search regret.json small --try default --try leaves=64 --seconds 0.05

`make` draws positions with a choice from rows, and searches below each of their moves: the value of a
move is that of the search of the position after it. `search` lets engines that differ in the settings of
`--try` search each position from an empty tree, in turn, and prints for each its simulations, its regret (how
far the value of the move played is below the best, 0 to 2), the difference in regret from the first engine
with its 95 % interval, and how often it lost less than 0.005.

The values are those of one network: compare searches of that network, not networks with each other.
"""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
import numpy as np
from constants import Constants, text
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ckai.datasets import read_rows
from ckai.datasets.files import write_whole
from ckai.game import Position
from ckai.models.inputs.packing import unpack_position
from ckai.models.pretrained import network_path
from ckai.rl.engine.engine import Engine
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.checkers import SPEC
from ckai.rl.matches.elo import Z95
from ckai.rl.search.proofs import PROOF_VALUE
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import SearchConstants

TREES = 1024
"""Searches side by side, whose leaves are evaluated in one call."""
SPARE_NODES = 400
"""Nodes of a tree beyond one for each visit."""
MIN_PIECES, MIN_MOVES = 8, 3
"""What a position must have."""
EQUAL = 0.005
"""Regret below which a move counts as the best one."""
ENGINE_SETTINGS = ("batches", "leaves")
"""Settings that are arguments of `Engine`, beside the fields of `SearchConstants`."""


@click.group()
def main() -> None:
    """Measure what moves lose."""


def drawn_positions(rows: Path, count: int, seed: int) -> list[Position]:
    """Draw distinct positions at random from rows in which a move begins."""
    data = read_rows(rows)
    found: dict[str, Position] = {}
    for i in np.random.default_rng(seed).permutation(len(data)).tolist():
        if len(found) == count:
            break
        if int(data.jumper[i]) >= 0 or int((data.board[i] != 0).sum()) < MIN_PIECES:
            continue
        position = unpack_position(data.board[i], -1, 0, black=True)
        if len(position.legal_moves()) >= MIN_MOVES:
            found.setdefault(position.fen, position)
    return list(found.values())


def values_of(positions: list[Position], evaluator: Any, visits: int) -> list[float]:
    """Search positions, each in a tree of its own; return their values for the side to move."""
    values = []
    for first in track(range(0, len(positions), TREES), "searching", transient=True):
        part = positions[first : first + TREES]
        searcher = Searcher(evaluator, trees=len(part), nodes=visits + SPARE_NODES)
        for t, position in enumerate(part):
            searcher.set_root(t, SPEC.state(position))
        searcher.run(np.full(len(part), visits, np.int32))
        roots = [searcher.root(t) for t in range(len(part))]
        values += [
            float(PROOF_VALUE[root["proof"]] if root["proof"] else root["value_sum"] / root["visits"])
            for root in roots
        ]
        searcher.close()
    return values


@main.command()
@click.argument("rows", type=click.Path(exists=True, path_type=Path))
@click.argument("network")
@click.option(
    "-o", "--output", default=Path("regret.json"), show_default=True, type=click.Path(path_type=Path)
)
@click.option("--positions", default=400, show_default=True, help="Number of positions.")
@click.option("--visits", default=1000, show_default=True, help="Visits below each move.")
@click.option("--seed", default=0, show_default=True)
@click.option("--evaluator", default="auto", show_default=True)
def make(
    rows: Path, network: str, output: Path, positions: int, visits: int, seed: int, evaluator: str
) -> None:
    """Find the values of the moves in positions of the rows."""
    drawn = drawn_positions(rows, positions, seed)
    moves = [
        (n, str(move), position.push(move))
        for n, position in enumerate(drawn)
        for move in position.legal_moves()
    ]
    tasks: list[dict[str, Any]] = [{"fen": position.fen, "values": {}} for position in drawn]
    loaded = load_evaluator(network_path(network), evaluator, threads=1)
    going_on = [after for _, _, after in moves if after.legal_moves()]
    values = iter(values_of(going_on, loaded, visits))
    for n, move, after in moves:
        tasks[n]["values"][move] = -next(values) if after.legal_moves() else 1.0
    write_whole(output, json.dumps({"visits": visits, "positions": tasks}, indent=1) + "\n")
    print(f"{len(tasks)} positions with {len(moves):,} moves in {output}")


def arguments_of(settings: dict[str, float]) -> dict[str, Any]:
    """Return settings as arguments of `Engine`."""
    arguments: dict[str, Any] = {name: int(settings[name]) for name in ENGINE_SETTINGS if name in settings}
    constants = {name: number for name, number in settings.items() if name not in ENGINE_SETTINGS}
    if constants:
        usual = SearchConstants(**SPEC.search_defaults)
        arguments["constants"] = usual._replace(**constants).typed()
    return arguments


@main.command()
@click.argument("positions", type=click.Path(exists=True, path_type=Path))
@click.argument("network")
@click.option(
    "--try",
    "tried",
    multiple=True,
    default=("default",),
    show_default=True,
    type=Constants(*ENGINE_SETTINGS),
    help="Settings.",
)
@click.option("--seconds", multiple=True, default=(0.05,), show_default=True, help="Time for a move.")
@click.option("--evaluator", default="auto", show_default=True)
def search(
    positions: Path,
    network: str,
    tried: tuple[dict[str, float], ...],
    seconds: tuple[float, ...],
    evaluator: str,
) -> None:
    """Search the positions with each setting, and print what the moves lose."""
    tasks = json.loads(positions.read_text())["positions"]
    table = Table("s", "settings", "simulations", "regret", "difference, 95 %", "best move")
    with ExitStack() as stack:
        engines = [
            stack.enter_context(
                Engine.load(network_path(network), evaluator=evaluator, **arguments_of(settings))
            )
            for settings in tried
        ]
        for limit in seconds:
            regret, simulations = np.zeros((2, len(engines), len(tasks)))
            for n, task in enumerate(track(tasks, f"{limit:g} s a move", transient=True)):
                best = max(task["values"].values())
                # The machine's speed changes with time: all engines see the same of it.
                for k in np.random.default_rng(n).permutation(len(engines)).tolist():
                    engines[k].forget()
                    result = engines[k].search(task["fen"], seconds=limit)
                    regret[k, n] = best - task["values"][str(result.move)]
                    simulations[k, n] = result.sims
            for k, settings in enumerate(tried):
                difference = regret[k] - regret[0]
                margin = Z95 * difference.std(ddof=1) / np.sqrt(len(tasks))
                row = (
                    f"{limit:g}",
                    text(settings),
                    f"{np.median(simulations[k]):,.0f}",
                    f"{regret[k].mean():.4f}",
                    f"{difference.mean():+.4f} ± {margin:.4f}" if k else "",
                    f"{100 * (regret[k] < EQUAL).mean():.1f} %",
                )
                table.add_row(*row)
                print(*row, sep="  ", flush=True)
    Console().print(table)


if __name__ == "__main__":
    main()
