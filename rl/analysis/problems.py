"""Problems of PDN and FEN files: reading them, solving them, and what the tablebases say of their results.

A PDN file has one problem a game: its FEN tag is the position, its moves the solution, its result the
expected one, `*` if there is none. A file named `.fen` has one problem a line:

    FEN [RESULT] [MOVE ...] [; comment]

with a result of `1-0` (Black wins), `0-1`, `1/2-1/2`, or `win`, `loss` and `draw` for the side to move. Blank
lines and lines that begin with `#` are skipped.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ckai.datasets.tables import Tables
from ckai.game import Move, Position
from ckai.game.text import printable
from ckai.pdn import PdnGame, read_games
from ckai.rl.engine.base import Engine, SearchResult
from ckai.rl.engine.limit import REVERSED, Limit, Proof

MAX_NAME = 60
"""Most characters of a name."""
WINNING = 0.5
"""Value from which on a position counts as won, and below its negative as lost; between them as drawn."""
RESULTS: dict[str, tuple[Proof, Proof]] = {
    "1-0": ("win", "loss"),
    "0-1": ("loss", "win"),
    "1/2-1/2": ("draw", "draw"),
}
"""The results of PDN, for Black and for White: in English draughts Black, the first mover, comes first."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem of a file."""

    position: Position
    path: str
    number: int
    """1-based number in the file."""
    name: str = ""
    """Title or comment, "" if there is none."""
    solution: list[Move] = field(default_factory=list)
    """Legal moves from the position; empty if the file has none."""
    result: Proof | None = None
    """Expected result for the side to move, None if the file has none."""

    @property
    def label(self) -> str:
        """The place of the problem and its name."""
        return f"{self.path}, problem {self.number}" + (f", {self.name}" if self.name else "")


def read_problems(path: Path) -> Iterator[Problem | ValueError]:
    """Read the problems of a file, in order, each one or the error that refused it.

    Args:
        path: a PDN file, which may be compressed, or a file of FENs, named `.fen`.

    Raises:
        OSError: the file cannot be read.
    """
    source: Path | io.BytesIO = path
    if path.suffix.lower() == ".fen":
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        source = io.BytesIO("\n".join(map(_as_pdn, lines)).encode())
    for game in read_games(source, str(path)):
        yield _of_game(game, str(path))


def _as_pdn(line: str) -> str:
    """Return a line of a file of FENs as a game in one line of PDN, so that both have the same numbers."""
    problem, _, name = line.partition(";")
    fen, *words = re.sub('[][{}()"]', " ", problem).split() or [""]
    if fen[:1] in ("", "#"):
        return ""
    result, name = "*", name.replace('"', "'")
    for written, (black, white) in RESULTS.items():
        if {written, black if fen[0] in "Bb" else white} & {word.lower() for word in words}:
            result = written
    moves = [word for word in words if word.lower() not in ("*", *RESULTS, *REVERSED)]
    return f'[Event "{name}"] [FEN "{fen}"] {" ".join(moves)} {result}'


def _of_game(game: PdnGame, path: str) -> Problem | ValueError:
    name = f"problem {game.number}"
    if game.problem is not None:
        return ValueError(game.problem.named(f"{name}: "))
    expected = ""
    if game.header("FEN") is None:
        expected = "expected a FEN tag with the position of a problem, found none"
    elif not game.start.legal_moves():
        expected = f"expected a position with a legal move, found {game.start.fen}"
    if expected:
        return ValueError(f"{path}:{game.line}: {name}: {expected}")
    titles = filter(None, map(game.header, ("Title", "Event", "Black")))
    return Problem(
        position=game.start,
        path=path,
        number=game.number,
        name=printable(" ".join(next(titles, "").split()), most=MAX_NAME),
        solution=[each.move for each in game.moves],
        result=RESULTS[game.result][0 if game.start.black else 1] if game.result in RESULTS else None,
    )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a problem."""

    problem: Problem
    found: SearchResult
    """The last result of the search."""
    solved: bool | None
    """Whether the last result was right; None if the file has nothing to compare it with, or the tables
    refute what it states."""
    seconds: float | None = None
    """Time from which on all results were right, None if the last one was not."""
    tables: Proof | None = None
    """The result of the problem by the tables, for the side to move; None if it is not in them."""
    refutation: tuple[int, Proof] | None = None
    """If the tables refute the stated result, or that the solution leads to it: see `refute`."""


def solve(engine: Engine, problem: Problem, limit: Limit, tables: Tables | None = None) -> Outcome:
    """Search a problem, until a limit or a proof, in a new game of the engine.

    A result is right if its move is the first of the solution, or keeps the expected result by the tables, or
    is proven to. Without a solution, where the tables do not know the position after its move, it is right if
    its value is that of the expected result: see `WINNING`.
    """
    engine.new_game()
    right_since: float | None = None

    def note(found: SearchResult) -> None:
        nonlocal right_since
        if not is_right(problem, found, tables):
            right_since = None
        elif right_since is None:
            right_since = found.seconds

    found = engine.search(problem.position, limit, on_result=note)
    note(found)
    refutation = refute(problem, tables)
    # A player that reports no value can only be compared with a move, or by the tables.
    known = found.value is not None or verdict(problem, [found.move], tables) is not None
    has_key = refutation is None and (bool(problem.solution) or (problem.result is not None and known))
    return Outcome(
        problem=problem,
        found=found,
        solved=right_since is not None if has_key else None,
        seconds=right_since if has_key else None,
        tables=verdict(problem, [], tables),
        refutation=refutation,
    )


def is_right(problem: Problem, result: SearchResult, tables: Tables | None = None) -> bool:
    """Return whether a result agrees with the solution or the expected result, see `solve`."""
    best = result.lines[0]
    found = verdict(problem, [best.move], tables)
    if problem.solution:
        kept = problem.result or verdict(problem, [], tables)
        return best.move == problem.solution[0] or (kept in ("win", "draw") and kept in (found, best.proven))
    if found is None and best.value is not None:
        found = "win" if best.value >= WINNING else "loss" if best.value <= -WINNING else "draw"
    return found is not None and found == problem.result


def refute(problem: Problem, tables: Tables | None) -> tuple[int, Proof] | None:
    """Return what the tables say against the stated result, None if they agree or do not know.

    The first position of the solution that they have decides. It is told by the plies before it and the
    result for the side to move in the problem.
    """
    for ply in range(len(problem.solution) + 1):
        found = verdict(problem, problem.solution[:ply], tables)
        if found is not None:
            return None if problem.result in (None, found) else (ply, found)
    return None


def verdict(problem: Problem, moves: list[Move], tables: Tables | None) -> Proof | None:
    """Return the result after some moves by the tables, for the side to move in the problem, if known."""
    position = problem.position
    for move in moves:
        position = position.push(move)
    found: Proof | None = "loss"
    if position.legal_moves():
        found = tables.probe(position).value if tables and tables.knows(position) else None
    return found if found is None or len(moves) % 2 == 0 else REVERSED[found]
