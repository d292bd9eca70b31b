"""Probe tables: result, distance, best moves and the whole line of a position.

The tables ignore draws by move count and by repetition. A win in n plies certainly stands if the halfmove
clock plus n is within the limit, and often otherwise, as most wins capture or move a man on the way.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.machine import cache_folder
from ckai.datasets.tables.index import MAX_PIECES, TableLayout, read_tables
from ckai.datasets.tables.solve import DRAWN, UNKNOWN, best_capture, look
from ckai.game.jit import inner, quick_kernel
from ckai.game.kernels import popcount
from ckai.game.position import Move, Position

SHIPPED: Final = 3
"""The package includes tables for up to this many pieces."""


@inner
def _value(own, opp, kings, jumper, values, lookup):
    """The value of a position with pieces on both sides, between two hops too; see `tables.solve`."""
    if jumper >= 0:
        return best_capture(own, opp, kings, jumper, values, lookup)
    return np.int64(look(own, opp, kings, values, lookup))


@inner
def tablebase_value(own, opp, kings, jumper, halfmove_clock, limit, values, lookup):
    """The value of a position in the tables if it ends before the draw by the halfmove clock, else UNKNOWN.

    It has pieces on both sides; `limit` is the halfmove clock at which the game is drawn.
    """
    value = _value(own, opp, kings, jumper, values, lookup)
    return value if value == DRAWN or halfmove_clock + value <= limit else np.int64(UNKNOWN)


@quick_kernel
def _probe(own, opp, kings, jumper, pieces, values, lookup):
    """As `_value`, also of a side without pieces, which has lost; UNKNOWN for what is not in the tables."""
    if own == 0:
        return np.int64(0)
    if opp == 0 or popcount(own | opp) > pieces:
        return np.int64(UNKNOWN)
    return _value(own, opp, kings, jumper, values, lookup)


@dataclass(frozen=True)
class ProbeResult:
    """The exact value of a position, for the side to move."""

    value: Literal["win", "loss", "draw"]
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

    def __init__(self, layout: TableLayout, values: NDArray[np.uint8], header: dict[str, Any]) -> None:
        self.layout, self.values, self.header = layout, values, header

    @classmethod
    def open(cls, pieces: int | None = None) -> "Tables":
        """Open the tables in the user's cache folder, see `cache_folder`, or in the package.

        Args:
            pieces: open the tables for this many pieces, 2 to 6, those of the package for 3 or fewer; None:
                the largest that exist.

        Raises:
            ValueError: the tables have not been built, the file is damaged, or no tables have so many pieces.
        """
        if pieces is not None and pieces not in range(2, MAX_PIECES + 1):
            raise ValueError(f"expected tables of 2 to {MAX_PIECES} pieces, found {pieces}")
        folder = cache_folder()
        if pieces is None:
            built = [n for n in range(SHIPPED, MAX_PIECES + 1) if table_path(n, folder).exists()]
            pieces = max(built, default=SHIPPED)
        path = table_path(pieces, folder)
        if pieces <= SHIPPED and not path.exists():
            path = table_path(SHIPPED, Path(__file__).parent)
        return cls(*read_tables(path))

    @property
    def pieces(self) -> int:
        """Most pieces of a position in the tables."""
        return self.layout.pieces

    def knows(self, position: Position) -> bool:
        """Whether a position is in the tables."""
        few = (position.own | position.opp).bit_count() <= self.pieces
        return bool(few and position.own and position.opp)

    def _plies(self, position: Position) -> int:
        """See `_probe`."""
        where = position.own, position.opp, position.kings, position.jumper
        return int(_probe(*where, self.pieces, self.values, self.layout.lookup))

    def probe(self, position: Position) -> ProbeResult:
        """The exact value of a position, for the side to move; ValueError if it is not in the tables."""
        value = self._plies(position)
        if value == UNKNOWN:
            number = (position.own | position.opp).bit_count()
            larger = self.pieces < number <= MAX_PIECES
            hint = f"; `ckai tables build --pieces {number}` builds larger tables" if larger else ""
            raise ValueError(
                f"{position.fen}: expected 2 to {self.pieces} pieces with some on each side, found "
                f"{number}{hint}"
            )
        if value == DRAWN:
            return ProbeResult("draw", None)
        return ProbeResult("win" if value & 1 else "loss", value)

    def best_moves(self, position: Position) -> list[Move]:
        """The moves that keep the result, and win fastest or lose slowest; raises as `probe`."""
        plies = self.probe(position).plies
        wanted = DRAWN if plies is None else plies - 1
        return [move for move in position.legal_moves() if self._plies(position.push(move)) == wanted]

    def line(self, position: Position, most: int = 300) -> list[Move]:
        """Best play to the end, `most` plies or fewer; empty for a drawn position; raises as `probe`."""
        played: list[Move] = []
        if self.probe(position).plies is None:
            return played
        while len(played) < most and (best := self.knows(position) and self.best_moves(position)):
            played.append(best[0])
            position = position.push(best[0])
        return played


def compile_probes(tables: Tables) -> None:
    """Compile what probing tables calls, before a clock runs."""
    tables.line(Position.from_fen("B:W32:BK18"))


def table_path(pieces: int, folder: Path) -> Path:
    """The table file for `pieces` pieces in a folder."""
    return folder / f"tables-{pieces}.ckt"
