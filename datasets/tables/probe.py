"""Asking tables: value, distance, best moves and the whole line, for one position or for many at once.

The tables know no draw by count or repetition. A win in n plies is a win whatever the count of plies without a capture or a man's move
is, if count + n stays within the limit, and nearly always otherwise, as most wins capture or move a man on
the way.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ckai.datasets.tables.file import TableError, read_tables
from ckai.datasets.tables.index import MOST
from ckai.datasets.tables.layout import Layout
from ckai.datasets.tables.solve import DRAWN, ROOM, UNKNOWN, best_capture, look
from ckai.game.kernels import apply_hop, legal_actions, legal_hops, lowest, popcount
from ckai.game.position import Move, Position

DEFAULT_PIECES: Final = 4
SHIPPED: Final = 3
"""Pieces of the tables that come with the package."""
WIN, LOSS, DRAW = "win", "loss", "draw"

MAX_LEGAL_HOPS: Final = 64
"""More hops are never legal at once."""
_LOOKED_AT: Final = 8000
"""Positions that are looked at to see whether a win comes in time."""

Values = NDArray[np.uint8]


@njit(cache=True)
def value_of(own, opp, kings, jumper, pieces, values, lookup, between):
    """The value of any position of `pieces` pieces or fewer, between two hops too; UNKNOWN with more.

    See `ckai.datasets.tables.solve` for values; `between` is room, `[ROOM, 4]` int64.
    """
    if own == 0:
        return np.int64(0)
    if opp == 0 or popcount(own | opp) > pieces:
        return np.int64(UNKNOWN)
    if jumper < 0:
        return np.int64(look(own, opp, kings, values, lookup))
    return best_capture(own, opp, kings, jumper, values, lookup, between)


@njit(cache=True)
def tablebase_value(own, opp, kings, jumper, halfmove_clock, limit, values, lookup):
    """The value of a position of the tables if the draw by the halfmove clock cannot undo it, else UNKNOWN.

    Args:
        own, opp, kings, jumper: the position, with pieces on both sides.
        halfmove_clock: plies since the last capture or step of a man.
        limit: the count that draws.
        values, lookup: of the tables.
    """
    if jumper >= 0:
        between = np.empty((ROOM, 4), np.int64)
        value = best_capture(own, opp, kings, jumper, values, lookup, between)
    else:
        value = np.int64(look(own, opp, kings, values, lookup))
    if value == DRAWN or halfmove_clock + value <= limit:
        return value
    if jumper < 0 and _in_time(own, opp, kings, halfmove_clock, value, limit, values, lookup):
        return value
    return np.int64(UNKNOWN)


@njit(cache=True)
def _in_time(own, opp, kings, halfmove_clock, value, limit, values, lookup):
    """Whether the win, whoever has it, comes within the count against every defence.

    Captures and steps of men begin the count again on the way. The winner follows the tables, all replies are
    tried; a position that takes too long is taken for one that does not.
    """
    if own | opp == kings:  # only captures can help, and the tables' own line is quiet nearly always
        return False
    waiting = np.empty((_LOOKED_AT, 5), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3], waiting[0, 4] = (
        own,
        opp,
        kings,
        halfmove_clock,
        value,
    )
    first, last = 0, 1
    while first < last:
        own, opp, kings = waiting[first, 0], waiting[first, 1], waiting[first, 2]
        halfmove_clock, value = waiting[first, 3], waiting[first, 4]
        first += 1
        if halfmove_clock + value <= limit:
            continue
        a, b, c, d, jumps = legal_hops(own, opp, kings, -1)
        if halfmove_clock >= limit or (jumps and value - 1 > limit):
            return False
        if jumps:
            continue
        only = np.int64(-1)
        if value & 1:  # the winner hurries to step with a man
            only = _step_to(own, opp, kings, own & ~kings, value - 1, values, lookup)
            if only < 0:
                only = _step_to(own, opp, kings, own & kings, value - 1, values, lookup)
        for direction in range(4):
            sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
            while sources:
                label = lowest(sources) * 4 + direction
                sources &= sources - 1
                if only >= 0 and label != only:
                    continue
                if last == _LOOKED_AT:
                    return False
                o, p, k, _, count, _ = apply_hop(own, opp, kings, halfmove_clock, label)
                waiting[last, 0], waiting[last, 1], waiting[last, 2], waiting[last, 3] = o, p, k, count
                waiting[last, 4] = look(o, p, k, values, lookup)
                last += 1
    return True


@njit(cache=True)
def _step_to(own, opp, kings, movers, wanted, values, lookup):
    """A step of one of `movers` to a position of the value wanted (for the side to move there), or -1."""
    a, b, c, d, _ = legal_hops(own, opp, kings, -1)
    for direction in range(4):
        sources = (a if direction == 0 else b if direction == 1 else c if direction == 2 else d) & movers
        while sources:
            label = lowest(sources) * 4 + direction
            sources &= sources - 1
            o, p, k, _, _, _ = apply_hop(own, opp, kings, 0, label)
            if look(o, p, k, values, lookup) == wanted:
                return label
    return np.int64(-1)


@njit(cache=True, nogil=True)
def _many(boards, pieces, values, lookup, out):
    between = np.empty((ROOM, 4), np.int64)
    for i in range(len(boards)):
        out[i] = value_of(
            boards[i, 0], boards[i, 1], boards[i, 2], boards[i, 3], pieces, values, lookup, between
        )


@njit(cache=True, nogil=True)
def best_hops(row, pieces, values, lookup, out):
    """Write the hops of the best moves in a position `[4]` (own, opp, kings, jumper) into `out`; return their
    number."""
    between = np.empty((ROOM, 4), np.int64)
    own, opp, kings, jumper = row[0], row[1], row[2], row[3]
    value = value_of(own, opp, kings, jumper, pieces, values, lookup, between)
    labels = np.empty(MAX_LEGAL_HOPS, np.uint8)
    n = 0
    if value == UNKNOWN or own == 0:
        return n
    for i in range(legal_actions(own, opp, kings, jumper, labels)):
        o, p, k, j, _, passed = apply_hop(own, opp, kings, 0, np.int64(labels[i]))
        after = value_of(o, p, k, j, pieces, values, lookup, between)
        if after == (value - 1 if passed and value != DRAWN else value):
            out[n] = labels[i]
            n += 1
    return n


@dataclass(frozen=True)
class ProbeResult:
    """What a table says of a position, for the side to move."""

    value: str
    """"win", "loss" or "draw"."""
    plies: int | None
    """To the last move with best play; None for a draw."""


class Tables:
    """Tables for all positions of some pieces or fewer.

    Attributes:
        layout: where the values of each class lie.
        values: `[positions]` uint8, see `ckai.datasets.tables.solve`.
        header: of the file: counts, longest distances.
    """

    def __init__(self, layout: Layout, values: Values, header: dict[str, Any] | None = None) -> None:
        self.layout, self.values, self.header = layout, values, header or {}

    @classmethod
    def open(cls, pieces: int | None = None, *, folder: Path | None = None) -> "Tables":
        """The tables of a folder; those of the most pieces if none are named.

        Args:
            pieces: how many pieces.
            folder: None: the user's cache folder, and for 3 pieces or fewer those that come with the package.

        Raises:
            TableError: there are none, or the file is damaged.
        """
        place = folder or cache_folder()
        if pieces is None:
            there = [n for n in range(2, MOST + 1) if table_path(n, place).exists()]
            pieces = max([*there, 0 if folder else SHIPPED], default=0) or DEFAULT_PIECES
        path = table_path(pieces, place)
        if folder is None and pieces <= SHIPPED and not path.exists():
            path = table_path(SHIPPED, Path(__file__).parent)
        return cls(*read_tables(path))

    @property
    def pieces(self) -> int:
        """Most pieces of a position that is known."""
        return self.layout.pieces

    def knows(self, position: Position) -> bool:
        """Whether a position is in the tables."""
        few = (position.own | position.opp).bit_count() <= self.pieces
        return bool(few and position.own and position.opp)

    def probe_many(self, boards: NDArray[np.int64]) -> Values:
        """Values of many positions in one call, without Python in between.

        Args:
            boards: `[B, 4]` int64: own, opp, kings, jumper of each, see `Position`.

        Returns:
            `[B]` uint8: plies to the end, odd for a win and even for a loss of the side to move; 255 for a
            draw, 254 for a position with more pieces than the tables have.
        """
        out = np.empty(len(boards), np.uint8)
        layout = self.layout
        _many(np.ascontiguousarray(boards), layout.pieces, self.values, layout.lookup, out)
        return out

    def probe(self, position: Position) -> ProbeResult:
        """What is known of a position.

        Raises:
            TableError: it has more pieces than the tables, or none on a side.
        """
        value = int(self.probe_many(np.array([_row(position)], np.int64))[0])
        if value == UNKNOWN:
            number = (position.own | position.opp).bit_count()
            raise TableError(
                f"{position.fen}: expected 2 to {self.pieces} pieces with some on each side, found {number}"
            )
        if value == DRAWN:
            return ProbeResult(DRAW, None)
        return ProbeResult(WIN if value & 1 else LOSS, value)

    def best_moves(self, position: Position) -> list[Move]:
        """The moves that keep the value, and of these those that win fastest or lose latest; none at the end.

        Raises:
            TableError: see `probe`.
        """
        self.probe(position)
        return [move for move in position.legal_moves() if self._is_best(position, move)]

    def _is_best(self, position: Position, move: Move) -> bool:
        for label in move.actions:
            if label not in self.best_actions(position):
                return False
            position = position.push_action(label)
        return True

    def best_actions(self, position: Position) -> list[int]:
        """The hops that the best moves begin or go on with, ascending; see `best_moves`.

        Nothing where the position is not in the tables.
        """
        out = np.empty(MAX_LEGAL_HOPS, np.uint8)
        row = np.array(_row(position), np.int64)
        return [
            int(label) for label in out[: best_hops(row, self.pieces, self.values, self.layout.lookup, out)]
        ]

    def line(self, position: Position, most: int = 300) -> list[Move]:
        """Best play to the end, the first of the best moves each time; a drawn position has none.

        Raises:
            TableError: see `probe`.
        """
        if self.probe(position).plies is None:
            return []
        played: list[Move] = []
        while len(played) < most and self.best_actions(position):
            labels: list[int] = []
            after = position
            while after.black == position.black:
                labels.append(self.best_actions(after)[0])
                after = after.push_action(labels[-1])
            move = position.move_of(labels)
            assert move is not None, "the best hops are those of legal moves"
            played.append(move)
            position = after
        return played


def cache_folder() -> Path:
    """Where a user's programs keep what they can make again."""
    given = os.environ.get("CKAI_CACHE")
    if given:
        return Path(given)
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "ckai"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "ckai"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ckai"


def table_path(pieces: int, folder: Path) -> Path:
    """The file of the tables of so many pieces."""
    return folder / f"tables-{pieces}.ckt"


def _row(position: Position) -> tuple[int, int, int, int]:
    return position.own, position.opp, position.kings, position.jumper
