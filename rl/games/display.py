"""What people see of a game: its board as a diagram, a game read from a file, a shot.

Every game describes these (`ckai.rl.games.spec.GameSpec`); a terminal or another front end shows them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """A square of a drawn board."""

    piece: str
    """`b` or `w`, the first or the second player's; `B` or `W`, their kings; `.` for an empty square, and an
    empty text for a square that is not played on."""
    label: str = ""
    """Text on the square, such as its number; at most two characters."""


@dataclass(frozen=True)
class Diagram:
    """A board as it is drawn for the second player, whose side is at the bottom."""

    rows: tuple[tuple[Cell, ...], ...]
    """Squares, the top row first; all rows are of the same length."""
    column_labels: tuple[str, ...] = ()
    """Text below each column, or none."""
    row_labels: tuple[str, ...] = ()
    """Text beside each row, or none; at most two characters."""

    def turned(self) -> "Diagram":
        """Return the board turned by 180 degrees."""
        rows = tuple(row[::-1] for row in self.rows[::-1])
        return Diagram(rows, self.column_labels[::-1], self.row_labels[::-1])


@dataclass(frozen=True)
class LoadedGame:
    """A game read from a file."""

    game: Any
    """The game with its moves, see `ckai.rl.games.spec.PlayedGame`."""
    headers: Mapping[str, str]
    result: str
    """One of `ckai.pdn.game.RESULTS`."""
    comments: tuple[str, ...] = ()
    """A comment for every move, empty where there is none; or nothing at all."""
    problem: str = ""
    """Why the game cannot be read beyond its last move; empty if it can."""
    text: str = ""
    """The game as text with its comments and variations; empty if it has none that `to_pdn` leaves out."""


@dataclass(frozen=True)
class Shot:
    """A short line that wins material by force."""

    line: tuple[Any, ...] = field()
    """Moves of both sides, the winning side first, to the end of the exchange."""
    taken: int
    """Pieces that the side wins in it."""
    given: int
    """Pieces that it gives up in it; a shot proper gives some first."""
    wins: bool = False
    """Whether the line ends the game."""
