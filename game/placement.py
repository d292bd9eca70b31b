"""Where the pieces stand: boards set up from squares or pieces, and what the rules exclude."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ckai.game import kernels
from ckai.game.errors import PositionError
from ckai.game.squares import SQUARES, square_of


@dataclass(frozen=True)
class Placement:
    """The contents of a FEN. Boards have bit = PDN square - 1, whichever side is to move."""

    black_to_move: bool
    black: int
    """All pieces of Black."""
    white: int
    """All pieces of White."""
    kings: int
    """The kings of both."""
    halfmove_clock: int = 0
    """Plies, from the H field; 0 without one."""


def place_men_and_kings(
    black: Iterable[int], black_kings: Iterable[int], white: Iterable[int], white_kings: Iterable[int]
) -> tuple[int, int, int]:
    """Boards from PDN squares of men and kings.

    Returns:
        (Black's pieces, White's pieces, kings) with bit = PDN square - 1.

    Raises:
        PositionError: if a square is not 1..32 or holds two pieces.

    >>> place_men_and_kings([1, 2], [], [], [18])
    (3, 131072, 131072)
    """
    boards = []
    occupied = 0
    for squares in (black, black_kings, white, white_kings):
        board = 0
        for square in squares:
            if not 1 <= square <= SQUARES:
                raise PositionError(f"expected squares from 1 to {SQUARES}, found {square}")
            bit = 1 << (int(square) - 1)
            if (occupied | board) & bit:
                raise PositionError(f"two pieces on square {square}")
            board |= bit
        occupied |= board
        boards.append(board)
    return boards[0] | boards[1], boards[2] | boards[3], boards[1] | boards[3]


def squares_by_piece(pieces: Mapping[int, str]) -> dict[str, list[int]]:
    """The squares of each piece `b`, `B`, `w` and `W`, from pieces by square.

    Raises:
        PositionError: for any other piece.

    >>> squares_by_piece({1: "b", 18: "W"})
    {'b': [1], 'B': [], 'w': [], 'W': [18]}
    """
    squares: dict[str, list[int]] = {"b": [], "B": [], "w": [], "W": []}
    for square, letter in pieces.items():
        if letter not in squares:
            raise PositionError(f"expected one of b, B, w, W on square {square}, found {letter!r}")
        squares[letter].append(square)
    return squares


def check_boards(own: int, opp: int, kings: int, black: bool) -> None:
    """Refuse boards in mover's view that the rules exclude; `black`: the side to move is Black.

    Raises:
        PositionError: two pieces on a square, a king on none, more than 12 of a side, or a man on its
            crowning row.
    """
    if (own | opp | kings) >> 32 or min(own, opp, kings) < 0:
        raise PositionError("expected boards of 32 bits")
    if own & opp:
        raise PositionError(f"two pieces on square {_lowest_square(own & opp, black)}")
    if kings & ~(own | opp):
        raise PositionError(f"a king on an empty square {_lowest_square(kings & ~(own | opp), black)}")
    names = ("Black", "White") if black else ("White", "Black")
    for pieces, last_row, name in ((own, kernels.LAST_ROW, names[0]), (opp, 0xF, names[1])):
        if pieces.bit_count() > 12:
            raise PositionError(f"{name} has {pieces.bit_count()} pieces, at most 12 are possible")
        stuck = pieces & ~kings & last_row
        if stuck:
            raise PositionError(f"a man of {name} on its crowning row, square {_lowest_square(stuck, black)}")


def check_jumper(own: int, opp: int, kings: int, black: bool, jumper: int) -> None:
    """Refuse a capturing piece, a mover's-view index or -1 for none, that has no capture to continue.

    Raises:
        PositionError: no such index, no piece of the side to move there, or no capture.
    """
    if jumper == -1:
        return
    if not 0 <= jumper < SQUARES:
        raise PositionError(f"expected a jumper index from -1 to 31, found {jumper}")
    bit = 1 << jumper
    if not own & bit:
        raise PositionError(f"no piece of the side to move on jumper square {square_of(jumper, black)}")
    if not kernels.can_jump(bit, bool(kings & bit), opp, ~(own | opp) & kernels.FULL):
        raise PositionError(f"the piece on {square_of(jumper, black)} has no capture to continue")


def _lowest_square(bits: int, black: bool) -> int:
    return square_of((bits & -bits).bit_length() - 1, black)
