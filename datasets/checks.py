"""Check the rows of a data set in one pass: a kernel looks at every row and names the first that is wrong."""

from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.rows import Rows
from ckai.datasets.schema import DatasetError
from ckai.game import HALFMOVE_LIMIT
from ckai.game.jit import kernel
from ckai.game.kernels import LAST_ROW, apply_hop, popcount, write_legal

Key: TypeAlias = tuple[int, int, int]
"""(game, ply, hop): rows are sorted by it, and each is there once."""

ROUNDING: Final = 1e-4
"""How far a q may be outside [-1, 1]."""
MOST_PIECES: Final = 12
"""Of a side, in checkers."""
FIRST_ROW: Final = 0xF

_FAULTS: Final = (
    ("", ""),
    ("ply", "ply >= 0"),
    ("hop", "hop >= 0"),
    ("key", "a row after the one before by (game, ply, hop)"),
    ("black", "colours that take turns"),
    ("z", "a z of -1, 0 or 1"),
    ("z", "one result for all rows of a game"),
    ("q", "a finite q"),
    ("q", "a q in [-1, 1]"),
    ("quiet", "quiet >= 0"),
    ("board", "a board of -3, -1, 0, 1 and 3"),
    ("jumper", "a jumper from -1 to 31"),
    ("quiet", f"quiet of at most ply + {HALFMOVE_LIMIT}"),
    ("pieces", f"at most {MOST_PIECES} pieces a side"),
    ("board", "no man on its last row"),
    ("jumper", "a jumper that is one of the mover's pieces after the first hop of a move, and -1 before"),
    ("legal", "the legal actions of the position"),
    ("label", "a legal label of"),
    ("visits", "visits of the legal actions"),
    ("board", "the position after the row before"),
)
"""Column and what is expected of it, by the number that `_first_fault` returns."""
(
    _, _PLY, _HOP, _ORDER, _TURN, _Z, _RESULT, _Q, _Q_RANGE, _QUIET, _BOARD, _JUMPER, _CLOCK, _PIECES, _MAN,
    _NO_JUMPER, _LEGAL, _LABEL, _VISITS, _NEXT,
) = range(len(_FAULTS))  # fmt: skip


def check_rows(
    path: Path,
    rows: Rows,
    black: NDArray[np.bool_],
    hop: NDArray[np.int8],
    first: int,
    before: Key | None,
    game: str,
) -> Key:
    """Refuse rows that cannot be, which would spoil what is learned from all others.

    Args:
        path: the file of the rows.
        rows: one row group as it was read.
        black, hop: `[N]`, their other columns.
        first: number of its first row in the file.
        before: key of the row before the first, if it is known.
        game: the game of the rows; boards, jumpers, clocks and legal actions are checked in checkers only.

    Returns:
        The key of the last row.

    Raises:
        DatasetError: rows that are not sorted, or there twice; a ply, hop or halfmove clock below 0; colours
            that do not take turns; an action played, or with visits, that is not legal; a result or a
            search's value outside [-1, 1], other than NaN. In checkers also: a game with several results, an
            impossible position or clock, a mask of other than the legal actions, and a position that does not
            follow from the row before.
    """
    none = np.empty(0, np.uint8)
    visits = rows.visits
    arrays: tuple[NDArray[Any], ...] = (
        rows.game, rows.ply, hop, black, rows.board, rows.jumper, rows.quiet, rows.legal, rows.label, rows.z,
        rows.z_known, none.view(np.float32) if rows.q is None else rows.q,
        np.empty(0, np.int64) if visits is None else visits.offsets,
        none if visits is None else visits.labels,
        none.view(np.uint32) if visits is None else visits.counts,
    )  # fmt: skip
    at, fault, entry = _first_fault(
        game == DEFAULT_GAME_NAME, before or (-1, -1, -1), *map(_read_only, arrays)
    )
    if not fault:
        return int(rows.game[-1]), int(rows.ply[-1]), int(hop[-1])
    where = f"{path}: row {first + at}"
    name, expected = _FAULTS[fault]
    if name == "label":
        where += f" (game {rows.game[at]}, ply {rows.ply[at]})"
    if name in ("label", "visits"):
        expected += f" {np.flatnonzero(rows.take(np.array([at])).legal_mask()[0]).tolist()}"
    found: Any
    if name == "visits":
        assert visits is not None
        found = f"{visits.counts[entry]} of {visits.labels[entry]}"
    elif name == "key":
        found = f"{(int(rows.game[at]), int(rows.ply[at]), int(hop[at]))}; a file has each row once, in order"
    elif name == "pieces":
        found = f"{(rows.board[at] > 0).sum()} and {(rows.board[at] < 0).sum()}"
    elif name == "legal":
        found = np.flatnonzero(rows.take(np.array([at])).legal_mask()[0]).tolist()
    else:
        column = {"black": black, "hop": hop}.get(name)
        column = getattr(rows, name) if column is None else column
        found = column[at] if column.ndim == 1 else np.unique(column[at]).tolist()
    raise DatasetError(f"{where}: expected {expected}, found {found}")


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """A view with one type for Numba, whether the columns come from a file or from a program."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@kernel
def _first_fault(  # type: ignore[no-untyped-def]
    checkers, before, game, ply, hop, black, board, jumper, quiet, legal, label, z, z_known, q, offsets,
    visited, counts,
):  # fmt: skip
    """The first row with a fault, its number in `_FAULTS` (0: there is none), and the entry of its visits."""
    mask = np.empty(16, np.uint8)
    actions = 8 * legal.shape[1]
    own = opp = kings = clock = piece = np.int64(0)  # what should follow from the row before
    mover_stays = False
    for i in range(len(game)):
        if ply[i] < 0:
            return i, _PLY, 0
        if hop[i] < 0:
            return i, _HOP, 0
        here = (np.int64(game[i]), np.int64(ply[i]), np.int64(hop[i]))
        last = before if i == 0 else (np.int64(game[i - 1]), np.int64(ply[i - 1]), np.int64(hop[i - 1]))
        if not here > last:
            return i, _ORDER, 0
        same = i > 0 and here[0] == last[0]
        if same and (black[i] == black[i - 1]) != ((ply[i] - ply[i - 1]) % 2 == 0):
            return i, _TURN, 0
        if z[i] < -1 or z[i] > 1:
            return i, _Z, 0
        if (
            checkers
            and same
            and (
                z_known[i] != z_known[i - 1] or z[i] != (z[i - 1] if black[i] == black[i - 1] else -z[i - 1])
            )
        ):
            return i, _RESULT, 0
        if len(q) and np.isinf(q[i]):
            return i, _Q, 0
        if len(q) and abs(q[i]) > 1 + ROUNDING:
            return i, _Q_RANGE, 0
        if quiet[i] < 0:
            return i, _QUIET, 0
        if checkers:
            mine = theirs = crowned = np.int64(0)
            for square in range(32):
                value = board[i, square]
                bit = np.int64(1) << square
                if value > 0:
                    mine |= bit
                elif value < 0:
                    theirs |= bit
                if value == 3 or value == -3:
                    crowned |= bit
                elif value < -1 or value > 1:
                    return i, _BOARD, 0
            if jumper[i] < -1 or jumper[i] > 31:
                return i, _JUMPER, 0
            if quiet[i] > ply[i] + HALFMOVE_LIMIT:
                return i, _CLOCK, 0
            if popcount(mine) > MOST_PIECES or popcount(theirs) > MOST_PIECES:
                return i, _PIECES, 0
            if (mine & LAST_ROW | theirs & FIRST_ROW) & ~crowned:
                return i, _MAN, 0
            # A game may begin within a capture, as walks do.
            if (jumper[i] < 0 and hop[i] > 0) or (jumper[i] >= 0 and not mine >> jumper[i] & 1):
                return i, _NO_JUMPER, 0
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
        if checkers:
            follows = same and (
                (ply[i] == last[1] and hop[i] == last[2] + 1) or (ply[i] == last[1] + 1 and hop[i] == 0)
            )
            if follows and not (
                mine == own
                and theirs == opp
                and crowned == kings
                and jumper[i] == piece
                and quiet[i] == clock
                and mover_stays == (ply[i] == last[1])
            ):
                return i, _NEXT, 0
            own, opp, kings, piece, clock, passed = apply_hop(
                mine, theirs, crowned, np.int64(quiet[i]), np.int64(label[i])
            )
            mover_stays = not passed
    return len(game), 0, 0
