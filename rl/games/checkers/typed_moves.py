"""Moves of checkers as people type them, and one helpful line where they cannot be played."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from ckai.game import Move, MoveError, Position
from ckai.game.text import printable

MAX_TEXT = 60
"""Characters of the longest text that is looked at; the longest move has 9 jumps."""
MAX_DIGITS = 12
"""Digits in a row that are taken apart into squares: `1115` is 11-15."""
SHOWN = 8
"""Most legal moves in a message."""

_BETWEEN = r"(?:\s*(?:[-xX:*,./>\u2010-\u2015\u2192\u2212\u00d7]|to)+\s*|\s+)"
_SQUARES = re.compile(rf"\d+(?:{_BETWEEN}\d+)*\s*[-xX:,./]?")


def read_typed_move(position: Position, text: str) -> Move:
    """Return the legal move that a person means.

    Squares may be joined by anything usual (`11-15`, `26x17x10`, `11 15`, `11,15`, `1115`), a dot may follow,
    landing squares may be missing, and the first part of a capture is enough where only one way leads on.

    Raises:
        MoveError: the text is not a move, or half of one; or no legal move fits, or several do.

    >>> str(read_typed_move(Position.start(), "1115."))
    '11-15'
    >>> read_typed_move(Position.start(), "11-18")
    Traceback (most recent call last):
    ckai.game.text.MoveError: '11-18' is illegal; from 11: 11-15, 11-16
    """
    plain = re.sub(r"[.!?\s]+$", "", unicodedata.normalize("NFKC", text[: 2 * MAX_TEXT]).strip())
    shown = printable(" ".join(text.split()), most=24)
    legal = position.legal_moves()
    if len(text.strip()) > MAX_TEXT or not _SQUARES.fullmatch(plain):
        raise MoveError(f"'{shown}' is not a move such as 11-15 or 26x17x10; {_list(legal)}")
    runs = re.findall(r"\d+", plain)
    readings = [[int(digits) for digits in runs]]
    if len(runs) == 1 and 3 <= len(runs[0]) <= MAX_DIGITS:
        readings = list(_taken_apart(runs[0])) or readings
    first = readings[0][0]
    begun = [move for move in legal if move.from_square == first]
    if len(readings[0]) == 1 and begun:
        raise MoveError(f"'{shown}' is half a move; {_list(begun, f'from {first}: ')}")
    for fits in (lambda move, squares: move.path == tuple(squares), _goes, _begins):
        found = {move for squares in readings for move in legal if fits(move, squares)}
        if len(found) == 1:
            return found.pop()
        if found:
            ways = " or ".join(map(str, sorted(found)))
            raise MoveError(f"'{shown}' is ambiguous: {ways}; type all squares")
    raise MoveError(f"'{shown}' is illegal{_why(position, first, begun)}")


def _goes(move: Move, squares: Sequence[int]) -> bool:
    """Whether a move goes from the first square to the last and visits the others in order."""
    return len(squares) > 1 and move.path[-1] == squares[-1] and _begins(move, squares)


def _begins(move: Move, squares: Sequence[int]) -> bool:
    """Whether a move starts on the first square and visits the others in order."""
    rest = iter(move.path)
    return move.path[0] == squares[0] and all(square in rest for square in squares)


def _taken_apart(digits: str) -> Iterator[list[int]]:
    """Yield the ways to read digits as two or more squares."""
    for size in (1, 2):
        first, rest = digits[:size], digits[size:]
        if not rest or not 1 <= int(first) <= 32:
            continue
        if len(rest) <= 2 and 1 <= int(rest) <= 32:
            yield [int(first), int(rest)]
        yield from ([int(first), *squares] for squares in _taken_apart(rest))


def _why(position: Position, first: int, begun: Sequence[Move]) -> str:
    """Return why none of the legal moves from a square, `begun`, fits, and which moves are legal."""
    legal = position.legal_moves()
    if not legal:
        return ": the game is over"
    piece = position.piece(first) if 1 <= first <= 32 else ""
    if not piece:
        why = "squares are 1 to 32"
    elif piece == ".":
        why = f"no piece is on {first}"
    elif piece.lower() != ("b" if position.black else "w"):
        why = f"the piece on {first} is {'White' if position.black else 'Black'}'s"
    elif legal[0].is_capture:
        return f", you must capture: {_list(begun or legal, '')}"
    elif begun:
        return f"; {_list(begun, f'from {first}: ')}"
    else:
        why = f"the piece on {first} cannot move"
    return f": {why}; {_list(legal)}"


def _list(moves: Iterable[Move], head: str = "legal: ") -> str:
    texts = list(map(str, moves))
    rest = ", ... (moves lists all)" if len(texts) > SHOWN else ""
    return head + ", ".join(texts[:SHOWN]) + rest
