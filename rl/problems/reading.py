"""Reading problems.

A PDN file has one problem a game: its FEN tag is the position, its moves are the solution, its result is the
expected one, `*` if there is none. Any other file has one problem a line:

    FEN [RESULT] [MOVE ...] [; comment]

with a result of `1-0` (Black wins), `0-1`, `1/2-1/2`, or `win`, `loss` and `draw` for the side to move. Blank
lines and lines that begin with `#` are skipped.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path

from ckai.game import MoveError, Position, PositionError
from ckai.pdn import PdnGame, read_games
from ckai.pdn.sources import open_stream, packed_form
from ckai.rl.engine.result import Proof
from ckai.rl.problems.problem import RESULTS, Problem, ProblemError, result_for

_FEN_LINE = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:#[^\n]*\n\s*)*[BWbw]:[BWbw]")
_WORDS: tuple[Proof, ...] = ("win", "loss", "draw")
MAX_NAME = 60
"""Most characters of a name."""


def read_problems(path: Path) -> Iterator[Problem | ProblemError]:
    """Read the problems of a file, in order, each one or the error that refused it.

    Args:
        path: a PDN file, which may be compressed, or a file of FENs: one whose first line is a FEN.

    Raises:
        OSError: the file cannot be read.
    """
    data = path.read_bytes()
    if _FEN_LINE.match(data) or path.suffix.lower() == ".fen":
        return _read_fens(data.decode(errors="replace"), str(path))
    return _read_pdn(data, path)


def _read_pdn(data: bytes, path: Path) -> Iterator[Problem | ProblemError]:
    if packed_form(data) == "zip archive" and path.is_file():
        for game in read_games(path, str(path)):
            yield _from_game(game, str(path))
        return
    with open_stream(io.BufferedReader(io.BytesIO(data)), str(path)) as opened:  # what a pipe had is gone
        for game in read_games(opened.file, str(path)):
            yield _from_game(game, str(path))


def _from_game(game: PdnGame, path: str) -> Problem | ProblemError:
    name = f"problem {game.number + 1}"
    if game.problem is not None and (game.rejected or not game.moves):
        return ProblemError(game.problem.named(f"{name}: "))
    where = f"{path}:{game.line}: {name}"
    if game.header("FEN") is None:
        return ProblemError(f"{where}: expected a FEN tag with the position of a problem, found none")
    if game.problem is not None:
        return ProblemError(game.problem.named(f"{name}: "))
    position = game.start
    if not position.legal_moves():
        return ProblemError(f"{where}: expected a position with a legal move, found {position.fen}")
    return Problem(
        position=position,
        path=path,
        number=game.number + 1,
        name=_clean(next((text for tag in ("Title", "Event", "Black") if (text := game.header(tag))), "")),
        solution=[each.move for each in game.moves],
        result=result_for(game.result or "*", position),
    )


def _read_fens(text: str, path: str) -> Iterator[Problem | ProblemError]:
    number = 0
    for at, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        number += 1
        try:
            yield _from_line(line, path, number)
        except (PositionError, MoveError, ProblemError) as error:
            yield ProblemError(f"{path}:{at}: problem {number}: {error}")


def _from_line(line: str, path: str, number: int) -> Problem:
    words, _, comment = line.partition(";")
    fen, *rest = words.split() or [""]
    position = Position.from_fen(fen)
    if not position.legal_moves():
        raise ProblemError(f"expected a position with a legal move, found {position.fen}")
    result: Proof | None = None
    if rest and rest[0] in RESULTS:
        result = result_for(rest.pop(0), position)
    elif rest and rest[0].lower() in _WORDS:
        word = rest.pop(0).lower()
        result = next(each for each in _WORDS if each == word)
    solution, after = [], position
    for text in rest:
        solution.append(after.find_move(text))
        after = after.push(solution[-1])
    return Problem(
        position=position, path=path, number=number, name=_clean(comment), solution=solution, result=result
    )


def _clean(text: str) -> str:
    """Return a name in one line, without control characters."""
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_NAME else text[: MAX_NAME - 3] + "..."
