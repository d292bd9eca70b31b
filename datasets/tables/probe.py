"""Probe tables: result, distance, best moves and the whole line, for one position or for many at once.

The tables ignore draws by move count and by repetition. A win in n plies certainly stands if the halfmove
clock plus n is within the limit, and nearly always otherwise, as most wins capture or move a man on the way.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.machine import cache_folder
from ckai.datasets.tables.file import read_tables
from ckai.datasets.tables.index import MAX_PIECES
from ckai.datasets.tables.layout import TableLayout
from ckai.datasets.tables.solve import DRAWN, ROOM, UNKNOWN, best_capture, look
from ckai.game.jit import inner, kernel
from ckai.game.kernels import apply_hop, legal_actions, legal_hops, lowest, popcount
from ckai.game.moves import Move
from ckai.game.position import Position

DEFAULT_PIECES: Final = 4
SHIPPED: Final = 3
"""The package includes tables for up to this many pieces."""
TableResult: TypeAlias = Literal["win", "loss", "draw"]
WIN: Final = "win"
LOSS: Final = "loss"
DRAW: Final = "draw"
ADJUDICATED = "adjudicated by endgame tables"
"""Termination tag of a game that ended with the result of the tables."""

MAX_LEGAL_HOPS: Final = 64
"""Upper bound on the legal hops of a position."""
_MAX_SEARCHED: Final = 100
"""Positions searched, at most, to prove that a win comes before the draw by the halfmove clock."""

Values = NDArray[np.uint8]


@inner
def value_of(own, opp, kings, jumper, pieces, values, lookup, between):
    """The value of any position with up to `pieces` pieces, between two hops too; else UNKNOWN.

    See `ckai.datasets.tables.solve` for values; `between` is scratch space, `[ROOM, 4]` int64.
    """
    if own == 0:
        return np.int64(0)
    if opp == 0 or popcount(own | opp) > pieces:
        return np.int64(UNKNOWN)
    if jumper < 0:
        return np.int64(look(own, opp, kings, values, lookup))
    return best_capture(own, opp, kings, jumper, values, lookup, between)


@inner
def tablebase_value(own, opp, kings, jumper, halfmove_clock, limit, values, lookup):
    """The value of a position in the tables if the draw by the halfmove clock cannot change it, else UNKNOWN.

    Args:
        own, opp, kings, jumper: the position, with pieces on both sides.
        halfmove_clock: plies since the last capture or step of a man.
        limit: the halfmove clock at which the game is drawn.
        values, lookup: of the tables' layout.
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


@inner
def _in_time(own, opp, kings, halfmove_clock, value, limit, values, lookup):
    """Whether the winner, either side, wins before the limit against every defence.

    Captures and steps of men reset the clock on the way. The winner follows the tables, and all replies are
    tried. False if that needs more than `_MAX_SEARCHED` positions.
    """
    if own | opp == kings:  # only captures reset the clock, and the tables' line rarely has one
        return False
    waiting = np.empty((_MAX_SEARCHED, 5), np.int64)
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
        if value & 1:  # prefer a step of a man, which resets the clock
            only = _step_to(own, opp, kings, own & ~kings, value - 1, values, lookup)
            if only < 0:
                only = _step_to(own, opp, kings, own & kings, value - 1, values, lookup)
        for direction in range(4):
            sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
            while sources:
                action = lowest(sources) * 4 + direction
                sources &= sources - 1
                if only >= 0 and action != only:
                    continue
                if last == _MAX_SEARCHED:
                    return False
                o, p, k, _, count, _ = apply_hop(own, opp, kings, halfmove_clock, action)
                waiting[last, 0], waiting[last, 1], waiting[last, 2], waiting[last, 3] = o, p, k, count
                waiting[last, 4] = look(o, p, k, values, lookup)
                last += 1
    return True


@inner
def _step_to(own, opp, kings, movers, wanted, values, lookup):
    """A step of one of `movers` to a position with the value `wanted` (for its side to move), or -1."""
    a, b, c, d, _ = legal_hops(own, opp, kings, -1)
    for direction in range(4):
        sources = (a if direction == 0 else b if direction == 1 else c if direction == 2 else d) & movers
        while sources:
            action = lowest(sources) * 4 + direction
            sources &= sources - 1
            o, p, k, _, _, _ = apply_hop(own, opp, kings, np.int64(0), action)
            if look(o, p, k, values, lookup) == wanted:
                return action
    return np.int64(-1)


@kernel
def _many(boards, pieces, values, lookup, out):
    between = np.empty((ROOM, 4), np.int64)
    for i in range(len(boards)):
        out[i] = value_of(
            boards[i, 0], boards[i, 1], boards[i, 2], boards[i, 3], pieces, values, lookup, between
        )


@kernel
def best_hops(row, pieces, values, lookup, out):
    """Write the best hops of a position `[4]` (own, opp, kings, jumper) to `out`; return how many."""
    between = np.empty((ROOM, 4), np.int64)
    own, opp, kings, jumper = row[0], row[1], row[2], row[3]
    value = value_of(own, opp, kings, jumper, pieces, values, lookup, between)
    actions = np.empty(MAX_LEGAL_HOPS, np.uint8)
    n = 0
    if value == UNKNOWN or own == 0:
        return n
    for i in range(legal_actions(own, opp, kings, jumper, actions)):
        o, p, k, j, _, passed = apply_hop(own, opp, kings, np.int64(0), np.int64(actions[i]))
        after = value_of(o, p, k, j, pieces, values, lookup, between)
        if after == (value - 1 if passed and value != DRAWN else value):
            out[n] = actions[i]
            n += 1
    return n


@dataclass(frozen=True)
class ProbeResult:
    """The exact value of a position, for the side to move."""

    value: TableResult
    plies: int | None
    """Distance to the end of the game with best play; None for a draw."""


class Tables:
    """Endgame tablebases for all positions up to a number of pieces.

    The tables ignore draws by move count and by repetition.

    Attributes:
        layout: where the values of each material class are.
        values: `[positions]` uint8, see `ckai.datasets.tables.solve`.
        header: of the file: pieces, counts.

    Examples:
        >>> from ckai.game import Position
        >>> tables = Tables.open(3)  # comes with the package
        >>> position = Position.from_fen("B:WK32:BK15,K18")
        >>> result = tables.probe(position)
        >>> result.value, result.plies
        ('win', 19)
        >>> [str(move) for move in tables.best_moves(position)]
        ['15-19', '18-23']
    """

    def __init__(self, layout: TableLayout, values: Values, header: dict[str, Any] | None = None) -> None:
        self.layout, self.values, self.header = layout, values, header or {}

    @classmethod
    def open(cls, pieces: int | None = None, *, folder: Path | None = None) -> "Tables":
        """Open the tables in a folder.

        Args:
            pieces: open the tables for this many pieces, 2 to 6, those of the package for 3 or fewer; None:
                the largest that exist.
            folder: None: the user's cache folder, and the package for up to 3 pieces.

        Raises:
            ValueError: the tables have not been built, the file is damaged, or no tables have so many pieces.
        """
        if pieces is not None and pieces not in range(2, MAX_PIECES + 1):
            raise ValueError(f"expected tables of 2 to {MAX_PIECES} pieces, found {pieces}")
        place = folder or cache_folder()
        if pieces is None:
            built = [n for n in range(2, MAX_PIECES + 1) if table_path(n, place).exists()]
            pieces = max([*built, 0 if folder else SHIPPED], default=0) or DEFAULT_PIECES
        path = table_path(pieces, place)
        if folder is None and pieces <= SHIPPED and not path.exists():
            path = table_path(SHIPPED, Path(__file__).parent)
        layout, values, header = read_tables(path)
        return cls(layout, values, header)

    @property
    def pieces(self) -> int:
        """Most pieces of a position in the tables."""
        return self.layout.pieces

    def knows(self, position: Position) -> bool:
        """Whether a position is in the tables."""
        few = (position.own | position.opp).bit_count() <= self.pieces
        return bool(few and position.own and position.opp)

    def probe_many(self, boards: NDArray[np.int64]) -> Values:
        """Probe many positions in one call, without a Python loop.

        Args:
            boards: `[B, 4]` int64: own, opp, kings, jumper of each position, see `Position`.

        Returns:
            `[B]` uint8: plies to the end, odd for a win and even for a loss of the side to move; 255 for a
            draw, 254 for more pieces than the tables, or an opponent without pieces.
        """
        out = np.empty(len(boards), np.uint8)
        layout = self.layout
        _many(np.ascontiguousarray(boards), layout.pieces, self.values, layout.lookup, out)
        return out

    def probe(self, position: Position) -> ProbeResult:
        """The exact value of a position, for the side to move.

        Raises:
            ValueError: more pieces than the tables, or the opponent has none.
        """
        value = int(self.probe_many(np.array([_row(position)], np.int64))[0])
        if value == UNKNOWN:
            number = (position.own | position.opp).bit_count()
            larger = self.pieces < number <= MAX_PIECES
            hint = f"; `ckai tables build --pieces {number}` builds larger tables" if larger else ""
            raise ValueError(
                f"{position.fen}: expected 2 to {self.pieces} pieces with some on each side, found "
                f"{number}{hint}"
            )
        if value == DRAWN:
            return ProbeResult(DRAW, None)
        return ProbeResult(WIN if value & 1 else LOSS, value)

    def result(self, position: Position) -> TableResult | None:
        """The result for the side to move; None if the position is not in the tables."""
        return self.probe(position).value if self.knows(position) else None

    def best_moves(self, position: Position) -> list[Move]:
        """The moves that keep the result, and win fastest or lose slowest; raises as `probe`."""
        self.probe(position)
        return [move for move in position.legal_moves() if self._is_best(position, move)]

    def _is_best(self, position: Position, move: Move) -> bool:
        for action in move.actions:
            if action not in self.best_actions(position):
                return False
            position = position.push_action(action)
        return True

    def best_actions(self, position: Position) -> list[int]:
        """The actions (0..127, ascending) that the best moves begin or continue with; see `best_moves`.

        Empty if the position is not in the tables.
        """
        out = np.empty(MAX_LEGAL_HOPS, np.uint8)
        row = np.array(_row(position), np.int64)
        count = best_hops(row, self.pieces, self.values, self.layout.lookup, out)
        return [int(action) for action in out[:count]]

    def line(self, position: Position, most: int = 300) -> list[Move]:
        """Best play to the end, `most` plies or fewer; empty for a drawn position; raises as `probe`."""
        if self.probe(position).plies is None:
            return []
        played: list[Move] = []
        while len(played) < most and self.best_actions(position):
            actions: list[int] = []
            after = position
            while after.black == position.black:
                actions.append(self.best_actions(after)[0])
                after = after.push_action(actions[-1])
            move = position.move_of(actions)
            assert move is not None, "the best hops are those of legal moves"
            played.append(move)
            position = after
        return played


def compile_probes(tables: Tables) -> None:
    """Compile what probing tables calls, before a clock runs."""
    tables.line(Position.from_fen("B:W32:BK18"))


def table_path(pieces: int, folder: Path) -> Path:
    """The table file for `pieces` pieces in a folder."""
    return folder / f"tables-{pieces}.ckt"


def _row(position: Position) -> tuple[int, int, int, int]:
    return position.own, position.opp, position.kings, position.jumper
