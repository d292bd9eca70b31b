"""A whole move, and the squares that its text names."""

import re
from dataclasses import dataclass

from ckai.game.errors import MoveError
from ckai.game.squares import SQUARES

_TEXT = re.compile(r"\s*([0-9]{1,2})((?:\s*[-xX:\u2013*]\s*[0-9]{1,2})+)\s*\Z")


@dataclass(frozen=True, order=True)
class Move:
    """A whole move. `str(move)` is its PDN text with every landing square.

    Moves come from a position (`Position.legal_moves`, `Position.find_move`), sort by their squares, and can
    be used as dictionary keys.

    >>> from ckai.game import Position
    >>> move = Position.from_fen("W:W26:B22,14,6").find_move("26x1")
    >>> move
    <Move 26x17x10x1>
    >>> move.from_square, move.to_square, move.captured
    (26, 1, (22, 14, 6))
    """

    path: tuple[int, ...]
    """PDN squares 1..32 that the piece stands on, from first to last; two or more."""
    actions: tuple[int, ...]
    """One action 0..127 per hop, in mover's view (see `ckai.game.squares`)."""
    captured: tuple[int, ...] = ()
    """PDN squares of the captured pieces, in order; empty for a step."""

    @property
    def from_square(self) -> int:
        """PDN square 1..32 where the piece starts."""
        return self.path[0]

    @property
    def to_square(self) -> int:
        """PDN square 1..32 where the piece ends; equal to `from_square` when a king captures in a circle."""
        return self.path[-1]

    @property
    def is_capture(self) -> bool:
        """Whether the move captures."""
        return bool(self.captured)

    @property
    def short(self) -> str:
        """First and last square only: `26x1` for `26x17x10x1`. Two moves may share it."""
        return f"{self.path[0]}{'x' if self.captured else '-'}{self.path[-1]}"

    def __str__(self) -> str:
        return ("x" if self.captured else "-").join(map(str, self.path))

    def __repr__(self) -> str:
        return f"<Move {self}>"


def read_squares(text: str) -> list[int]:
    """The PDN squares of a move's text such as `11-15` or `26x17x10`.

    Raises:
        MoveError: if the text is not a move; the message is "is not a move such as ...".

    >>> read_squares(" 26x17x10")
    [26, 17, 10]
    """
    squares = [int(s) for s in re.findall(r"\d+", text)] if _TEXT.match(text) else []
    if not squares or not all(1 <= s <= SQUARES for s in squares):
        raise MoveError("is not a move such as 11-15 or 26x17x10")
    return squares
