"""Positions as bytes: what encodings, evaluators and searches pass to each other.

A position is one int8 per square in mover's view, then the jumper's index (-1: none), then the halfmove clock
capped at 127. For checkers that is 34 bytes: 32 board values (1 own man, 3 own king, -1 / -3 the opponent's,
0 empty) and the two after them. `ckai.rl.games.contract.encode` writes the same bytes in Numba.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ckai.datasets.rows import Rows
from ckai.game import Position
from ckai.game.squares import SQUARES

MAX_CLOCK = 127
"""Largest halfmove clock that its byte holds."""
_BITS = np.int64(1) << np.arange(SQUARES)


def pack_boards(board: NDArray[np.int8], jumper: ArrayLike, halfmove_clock: ArrayLike) -> NDArray[np.int8]:
    """Join boards `[N, squares]` int8, jumpers and clocks `[N]` into positions `[N, squares + 2]` int8."""
    out = np.empty((len(board), board.shape[1] + 2), np.int8)
    out[:, :-2] = board
    out[:, -2] = jumper
    out[:, -1] = np.minimum(halfmove_clock, MAX_CLOCK)
    return out


def pack_rows(rows: Rows) -> NDArray[np.int8]:
    """Pack rows into the bytes that evaluators take: `[N, squares + 2]` int8, for checkers `[N, 34]`.

    Examples:
        >>> from ckai.datasets import read_rows
        >>> pack_rows(read_rows("games.parquet"))[0, 32:].tolist()
        [-1, 0]
    """
    return pack_boards(rows.board, rows.jumper, rows.quiet)


def pack_positions(positions: Sequence[Position]) -> NDArray[np.int8]:
    """Pack positions of checkers into the bytes that evaluators take: `[N, 34]` int8, see `pack_rows`."""
    board = np.array([position.board for position in positions], np.int8).reshape(-1, SQUARES)
    return pack_boards(board, [p.jumper for p in positions], [p.halfmove_clock for p in positions])


def unpack_position(board: NDArray[np.int8], jumper: int, halfmove_clock: int, *, black: bool) -> Position:
    """The position of checkers of a row or a packed position; `board` is `[32]`, `black` whether Black moves.

    Raises:
        PositionError: if the rules exclude the position.
    """
    own, opp, kings = (int(_BITS[pieces].sum()) for pieces in (board > 0, board < 0, np.abs(board) == 3))
    return Position(own, opp, kings, black, jumper, halfmove_clock)
