"""The numbers of the game: squares, indices, rows, columns, bits and actions.

`docs/numbers.md` prints them side by side; a test compares it with this module.

- *square*: PDN's 1..32. Black starts on 1..12, White on 21..32.
- *index*: 0..31 in the view of the side to move (*mover's view*), who always plays towards higher
  rows. For Black index = square - 1, for White index = 32 - square (the board rotated by 180 degrees).
- *row*, *column*: index // 4 (0..7) and index % 4 (0..3), the 8x4 grid. The squares of an even row
  stand half a step to the right of those of an odd row.
- *bit*: 1 << index in a 32-bit board.
- *action*: index * 4 + direction, 0..127, one hop of one piece in mover's view; direction 0 up-right, 1
  down-right, 2 down-left, 3 up-left, with row 0 at the top.
"""

from typing import Final

SQUARES: Final = 32
NUM_ACTIONS: Final = 128

# Change of row and file by one step in each direction; row 0 is at the top.
_STEPS: Final = ((-1, 1), (1, 1), (1, -1), (-1, -1))


def file_of(index: int) -> int:
    """The square's column 0..7 on the full 8x8 board (0 at the left, row 0 at the top)."""
    row, column = divmod(index, 4)
    return 2 * column + (1 if row % 2 == 0 else 0)


def neighbour(index: int, direction: int, distance: int = 1) -> int:
    """The index `distance` diagonal steps away, or -1 when that leaves the board."""
    rows, files = _STEPS[direction]
    row, file = index // 4 + rows * distance, file_of(index) + files * distance
    if not (0 <= row < 8 and 0 <= file < 8):
        return -1
    return row * 4 + file // 2


def square_of(index: int, black: bool) -> int:
    """PDN square 1..32 of a mover's-view index, Black to move if `black`."""
    return index + 1 if black else SQUARES - index


def index_of(square: int, black: bool) -> int:
    """Mover's-view index 0..31 of a PDN square, Black to move if `black`."""
    return square - 1 if black else SQUARES - square
