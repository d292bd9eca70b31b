"""Check the rows of a data set in one pass: a kernel looks at every row and names the first that is wrong."""

from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.rows import Rows, Visits
from ckai.datasets.schema import DatasetError
from ckai.game.jit import kernel
from ckai.game.kernels import read_board, write_legal

Key: TypeAlias = tuple[int, int, int]
"""(game, ply, hop): rows are sorted by it, and each is there once."""

ROUNDING: Final = 1e-4
"""How far a q may be outside [-1, 1]."""

_FAULTS: Final = (
    ("", ""),
    ("key", "a row after the one before by (game, ply, hop)"),
    ("z", "a z of -1, 0 or 1"),
    ("q", "a q in [-1, 1]"),
    ("quiet", "quiet >= 0"),
    ("board", "a board of -3, -1, 0, 1 and 3"),
    ("jumper", "a jumper from -1 to 31 that is one of the mover's pieces"),
    ("legal", "the legal actions of the position"),
    ("label", "a legal label of"),
    ("visits", "visits of the legal actions"),
)
"""Column and what is expected of it, by the number that `_first_fault` returns."""
_, _ORDER, _Z, _Q, _QUIET, _BOARD, _JUMPER, _LEGAL, _LABEL, _VISITS = range(len(_FAULTS))


def check_rows(path: Path, rows: Rows, first: int, before: Key | None, game: str) -> Key:
    """Refuse rows that cannot be, which would spoil what is learned from all others.

    Args:
        path: the file of the rows.
        rows: one row group as it was read.
        first: number of its first row in the file.
        before: key of the row before the first, if it is known.
        game: the game of the rows; boards, jumpers and legal actions are checked in checkers only.

    Returns:
        The key of the last row; DatasetError for the first row that is not as `_FAULTS` expects.
    """
    visits = rows.visits or Visits(np.empty(0, np.int64), np.empty(0, np.uint8), np.empty(0, np.uint32))
    arrays: tuple[NDArray[Any], ...] = (
        rows.game, rows.ply, rows.hop, rows.board, rows.jumper, rows.quiet, rows.legal, rows.label, rows.z,
        np.empty(0, np.float32) if rows.q is None else rows.q, visits.offsets, visits.labels, visits.counts,
    )  # fmt: skip
    at, fault, entry = _first_fault(
        game == DEFAULT_GAME_NAME, before or (-1, -1, -1), *map(_read_only, arrays)
    )
    if not fault:
        return int(rows.game[-1]), int(rows.ply[-1]), int(rows.hop[-1])
    where = f"{path}: row {first + at}"
    name, expected = _FAULTS[fault]
    if name == "label":
        where += f" (game {rows.game[at]}, ply {rows.ply[at]})"
    legal = np.flatnonzero(rows.take(np.array([at])).legal_mask()[0]).tolist()
    if name in ("label", "visits"):
        expected += f" {legal}"
    found: Any
    if name == "visits":
        found = f"{visits.counts[entry]} of {visits.labels[entry]}"
    elif name == "key":
        key = (int(rows.game[at]), int(rows.ply[at]), int(rows.hop[at]))
        found = f"{key}; a file has each row once, in order, with ply and hop from 0"
    elif name == "board":
        found = np.unique(rows.board[at]).tolist()
    else:
        found = legal if name == "legal" else getattr(rows, name)[at]
    raise DatasetError(f"{where}: expected {expected}, found {found}")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view with one type for Numba, whether the columns come from a file or from a program."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@kernel
def _first_fault(  # type: ignore[no-untyped-def]
    checkers, before, game, ply, hop, board, jumper, quiet, legal, label, z, q, offsets,
    visited, counts,
):  # fmt: skip
    """The first row with a fault, its number in `_FAULTS` (0: there is none), and the entry of its visits."""
    mask = np.empty(16, np.uint8)
    actions = 8 * legal.shape[1]
    for i in range(len(game)):
        here = (np.int64(game[i]), np.int64(ply[i]), np.int64(hop[i]))
        last = before if i == 0 else (np.int64(game[i - 1]), np.int64(ply[i - 1]), np.int64(hop[i - 1]))
        if not here > last or ply[i] < 0 or hop[i] < 0:
            return i, _ORDER, 0
        if z[i] < -1 or z[i] > 1:
            return i, _Z, 0
        if len(q) and abs(q[i]) > 1 + ROUNDING:
            return i, _Q, 0
        if quiet[i] < 0:
            return i, _QUIET, 0
        if checkers:
            for piece in board[i]:
                if piece not in (-3, -1, 0, 1, 3):
                    return i, _BOARD, 0
            mine, theirs, crowned = read_board(board[i])
            if jumper[i] < -1 or jumper[i] > 31 or (jumper[i] >= 0 and not mine >> jumper[i] & 1):
                return i, _JUMPER, 0
            write_legal(mine, theirs, crowned, np.int64(jumper[i]), mask)
            for byte in range(16):
                if legal[i, byte] != mask[byte]:
                    return i, _LEGAL, 0
        if label[i] >= actions or not legal[i, label[i] >> 3] >> (label[i] & 7) & 1:
            return i, _LABEL, 0
        if len(offsets):
            for entry in range(offsets[i], offsets[i + 1]):
                action = visited[entry]
                if action >= actions or (counts[entry] and not legal[i, action >> 3] >> (action & 7) & 1):
                    return i, _VISITS, entry
    return len(game), 0, 0
