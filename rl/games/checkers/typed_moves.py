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

_SQUARES = re.compile(r"\d+(?:(?:\s*(?:[-xX:*,./>\u2010-\u2015\u2192\u2212\u00d7]|to)+\s*|\s+)\d+)*")
_BEGINNING = re.compile(r"(\d+)\D*")


def read_typed_move(position: Position, text: str) -> Move:
    """Return the legal move that a person means.

    Squares may be joined by anything usual (`11-15`, `26x17x10`, `11 15`, `11,15`, `1115`), a dot may follow,
    landing squares may be missing, and the first part of a capture is enough where only one way leads on.

    Args:
        position: the position before the move.
        text: what was typed.

    Raises:
        MoveError: the text is not a move, or half of one; or no legal move fits, or several do.

    >>> str(read_typed_move(Position.start(), "1115."))
    '11-15'
    >>> read_typed_move(Position.start(), "11-18")
    Traceback (most recent call last):
    ckai.game.errors.MoveError: '11-18' is illegal; from 11: 11-15, 11-16
    """
    plain = re.sub(r"[.!?\s]+$", "", unicodedata.normalize("NFKC", text[: 2 * MAX_TEXT]).strip())
    shown = printable(" ".join(text.split()), most=24)
    legal = position.legal_moves()
    if len(text.strip()) > MAX_TEXT:
        raise MoveError(f"'{shown}' is too long for a move such as 11-15 or 26x17x10")
    if not _SQUARES.fullmatch(plain):
        begun = _BEGINNING.match(plain)
        if begun and re.fullmatch(r"\d+\s*[-xX:,./]?", plain):
            raise MoveError(_half(position, int(begun[1]), shown))
        raise MoveError(f"'{shown}' is not a move such as 11-15 or 26x17x10; {_list(legal)}")
    groups = [int(group) for group in re.findall(r"\d+", plain)]
    readings = [groups]
    if len(groups) == 1:
        digits = re.findall(r"\d+", plain)[0]
        readings = list(_taken_apart(digits)) if 3 <= len(digits) <= MAX_DIGITS else []
        if not readings:
            raise MoveError(_half(position, groups[0], shown))
    for fits in (_is_path, _leads_through, _begins):
        found = {move for reading in readings for move in legal if fits(move.path, reading)}
        if len(found) == 1:
            return found.pop()
        if found:
            ways = " or ".join(map(str, sorted(found)))
            raise MoveError(f"'{shown}' is ambiguous: {ways}; type all squares")
    raise MoveError(_illegal(position, readings[0], shown))


def _is_path(path: Sequence[int], squares: Sequence[int]) -> bool:
    return list(path) == list(squares)


def _leads_through(path: Sequence[int], squares: Sequence[int]) -> bool:
    """Whether a move goes from the first to the last square and visits the others in order."""
    return path[-1] == squares[-1] and _begins(path[:-1], squares[:-1])


def _begins(path: Sequence[int], squares: Sequence[int]) -> bool:
    """Whether a move starts on the first square and visits the others in order."""
    if not squares or not path or path[0] != squares[0]:
        return False
    rest = iter(path[1:])
    return all(square in rest for square in squares[1:])


def _taken_apart(digits: str) -> Iterator[list[int]]:
    """Yield the ways to read digits as two or more squares."""
    for size in (1, 2):
        first, rest = digits[:size], digits[size:]
        if not rest or not 1 <= int(first) <= 32:
            continue
        if len(rest) <= 2 and 1 <= int(rest) <= 32:
            yield [int(first), int(rest)]
        yield from ([int(first), *squares] for squares in _taken_apart(rest))


def _half(position: Position, square: int, shown: str) -> str:
    moves = [move for move in position.legal_moves() if move.from_square == square]
    if not moves:
        return _illegal(position, [square], shown)
    return f"'{shown}' is half a move; {_list(moves, f'from {square}: ')}"


def _illegal(position: Position, squares: Sequence[int], shown: str) -> str:
    """Return why no legal move fits, and which ones begin alike."""
    legal = position.legal_moves()
    if not legal:
        return f"'{shown}': the game is over"
    first = squares[0]
    if not all(1 <= square <= 32 for square in squares):
        return f"'{shown}' is illegal: squares are 1 to 32; {_list(legal)}"
    alike = [move for move in legal if move.from_square == first]
    piece, own = position.piece(first), "b" if position.black else "w"
    if piece == ".":
        why = f"no piece is on {first}"
    elif piece.lower() != own:
        why = f"the piece on {first} is {'White' if position.black else 'Black'}'s"
    elif legal[0].is_capture:
        return f"'{shown}' is illegal, you must capture: {_list(alike or legal, '')}"
    elif alike:
        return f"'{shown}' is illegal; {_list(alike, f'from {first}: ')}"
    else:
        why = f"the piece on {first} cannot move"
    return f"'{shown}' is illegal: {why}; {_list(legal)}"


def _list(moves: Iterable[Move], head: str = "legal: ") -> str:
    texts = list(map(str, moves))
    rest = ", ... (moves lists all)" if len(texts) > SHOWN else ""
    return head + ", ".join(texts[:SHOWN]) + rest
