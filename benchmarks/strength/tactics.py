"""Test suite of tactics: positions of expert games in which one move wins by force, and who solves how many.

    python benchmarks/strength/tactics.py make data/games.parquet -o tactics.json
    python benchmarks/strength/tactics.py solve tactics.json cnn.ckpt alphabeta:swift.ckpt --results new.json

`make` draws positions at random, rotated so that Black is to move, and keeps those in which a deep alpha-beta
search of material says that exactly one move wins a man or more, against what every other move gets, while a
shallow search does not see it.
`solve` counts the positions in which a player's first move is that one, with 95 % intervals (Wilson 1927).
With `--results` it keeps every answer, and the same command goes on where it was stopped.
"""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ckai.datasets import read_rows
from ckai.datasets.files import file_digest, write_whole
from ckai.game import Position
from ckai.game.kernels import read_board
from ckai.game.material import UNBOUNDED, alpha_beta
from ckai.rl.engine.base import Engine
from ckai.rl.engine.loading import networks_of
from ckai.rl.games.checkers import VALUES
from ckai.rl.matches.elo import wilson

MARGIN = 70
"""Least gain of the solution over the next best move and over a shallow search: most of a man of 100."""
SHALLOW, DEEP, DEEPER = 3, 9, 11
"""Plies of the searches: one that must not see the win, one that finds it, one that confirms it."""


def value_of(position: Position, depth: int, alpha: int = -UNBOUNDED, beta: int = UNBOUNDED) -> int:
    """Return the material that the side to move gets in `depth` plies, between the bounds."""
    state = (position.own, position.opp, position.kings, position.jumper, position.halfmove_clock, depth)
    return int(alpha_beta(*map(np.int64, (*state, alpha, beta)), VALUES))


def only_move(position: Position, depth: int) -> tuple[Any, int] | None:
    """Return the move that beats all others by the margin, and its value; None if there is no such move."""
    values = []
    second = -UNBOUNDED
    for move in position.legal_moves():
        # Above the second best so far a value is exact; below it a bound is enough.
        value = -value_of(position.push(move), depth - 1, -UNBOUNDED, -second)
        values.append((value, move))
        best_two = sorted((v for v, _ in values), reverse=True)[:2]
        second = best_two[1] if len(best_two) == 2 else -UNBOUNDED
    values.sort(key=lambda pair: pair[0], reverse=True)
    if len(values) < 2 or values[0][0] - values[1][0] < MARGIN:
        return None
    return values[0][1], values[0][0]


def shot(position: Position) -> str | None:
    """Return the solution if the position belongs in the suite."""
    moves = position.legal_moves()
    if len(moves) < 3 or position.jumper >= 0 or any(move.is_capture for move in moves):
        return None
    shallow = value_of(position, SHALLOW)
    if value_of(position, DEEP, shallow, shallow + MARGIN) < shallow + MARGIN:
        return None
    deep = only_move(position, DEEP)
    if deep is None or deep[1] < shallow + MARGIN:
        return None
    deeper = only_move(position, DEEPER)
    if deeper is None or deeper[0] != deep[0] or deeper[1] < shallow + MARGIN:
        return None
    return str(deep[0])


@click.group()
def main() -> None:
    """Make a test suite of tactics, and let players solve it."""


@main.command()
@click.argument("rows", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o", "--output", default=Path("tactics.json"), show_default=True, type=click.Path(path_type=Path)
)
@click.option("--positions", default=500, show_default=True, help="Number of positions.")
@click.option("--seed", default=0, show_default=True)
def make(rows: Path, output: Path, positions: int, seed: int) -> None:
    """Find positions in the rows of expert games."""
    data = read_rows(rows)
    order = np.random.default_rng(seed).permutation(len(data))
    suite: list[dict[str, str]] = []
    seen: set[str] = set()
    looked, begun = 0, time.perf_counter()
    for i in order.tolist():
        if len(suite) == positions:
            break
        board = map(int, read_board(data.board[i]))
        position = Position(*board, True, int(data.jumper[i]), int(data.quiet[i]))
        if position.fen in seen:
            continue
        seen.add(position.fen)
        looked += 1
        solution = shot(position)
        if solution is not None:
            suite.append({"fen": position.fen, "move": solution})
            if len(suite) % 50 == 0:
                print(
                    f"{len(suite)} of {looked:,} positions, {time.perf_counter() - begun:.0f} s", flush=True
                )
    write_whole(output, json.dumps(suite, indent=1) + "\n")
    print(f"{len(suite)} positions of {looked:,} in {output}")


class Answers:
    """The answers of players by time limit, kept in a file so that a stopped measurement can continue."""

    def __init__(self, path: Path | None, suite: Path) -> None:
        """Read the answers there are.

        Args:
            path: the file; None: keep nothing.
            suite: the positions, which answers belong to.

        Raises:
            click.UsageError: the file has answers to another suite.
        """
        self.path = path
        self.digest = hashlib.sha256(suite.read_bytes()).hexdigest()
        self.moves: dict[str, dict[str, str]] = {}
        if path is not None and path.exists():
            content = json.loads(path.read_text())
            if content["suite"] != self.digest:
                raise click.UsageError(f"expected answers to {suite} in {path}, found those to another suite")
            self.moves = content["answers"]

    def of(self, player: str) -> dict[str, str]:
        """Return the moves of a player with its limit, by FEN; add to them and call `save`."""
        return self.moves.setdefault(player, {})

    def save(self) -> None:
        """Write the file."""
        if self.path is not None:
            content = {"suite": self.digest, "answers": self.moves}
            write_whole(self.path, json.dumps(content, indent=1) + "\n")


def share(right: int, asked: int) -> str:
    """Return the share of solved positions and its 95 % interval, `93.2 (90.6 to 95.1) %`."""
    low, high = wilson(right / asked, asked)
    return f"{100 * right / asked:.1f} ({100 * low:.1f} to {100 * high:.1f}) %"


@main.command()
@click.argument("suite", type=click.Path(exists=True, path_type=Path))
@click.argument("players", nargs=-1, required=True)
@click.option("--seconds", multiple=True, default=(0.02, 0.05, 0.2, 1.0), show_default=True)
@click.option("--positions", default=0, help="Number of positions; 0: all.")
@click.option("--evaluator", default="auto", show_default=True)
@click.option("--results", type=click.Path(path_type=Path), help="File of all answers, to go on with.")
def solve(
    suite: Path,
    players: tuple[str, ...],
    seconds: tuple[float, ...],
    positions: int,
    evaluator: str,
    results: Path | None,
) -> None:
    """Count the positions that players solve, by time per move."""
    tasks = json.loads(suite.read_text())[: positions or None]
    answers = Answers(results, suite)
    table = Table("player", *(f"{s:g} s" for s in seconds), title=f"solved of {len(tasks)}, 95 % intervals")
    for name in players:
        cells = []
        files = networks_of(name)  # a file may change under its name
        version = " ".join([evaluator, *(file_digest(file)[:16] for file in files)])
        for limit in seconds:
            given = answers.of(f"{name}@{limit:g}s {version}")
            missing = [task["fen"] for task in tasks if task["fen"] not in given]
            if missing:
                engine = Engine.load(f"{name}@{limit:g}s", evaluator=evaluator, threads=1)
                for number, fen in enumerate(track(missing, f"{name}, {limit:g} s", transient=True)):
                    engine.new_game()
                    given[fen] = str(engine.play(fen).move)
                    if number % 20 == 19:
                        answers.save()
                engine.close()
                answers.save()
            cells.append(share(sum(given[task["fen"]] == task["move"] for task in tasks), len(tasks)))
            print(f"{name}, {limit:g} s: {cells[-1]}", flush=True)
        table.add_row(name, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
