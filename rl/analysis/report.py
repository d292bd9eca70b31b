"""What an analysis says of a game, as plain data that JSON keeps."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

from ckai.rl.analysis.grading import Grade

Verdict = Literal["win", "loss", "draw"]


@dataclass(frozen=True, kw_only=True)
class PlyReport:
    """A move of a game. Points are expected points, 0 to 1, of the side that moves."""

    move: str
    """As PDN with every square: `11x18x25`."""
    black: bool
    """Whether Black moves."""
    pieces: int
    """Pieces on the board before the move."""
    forced: bool
    """Whether it is the only legal move: it is not graded and does not count for accuracy."""
    points: float
    """Of the position before the move, with the best move."""
    played: float
    """After the move that was played."""
    best: str
    """The engine's move; that of the game where nothing better was found."""
    line: tuple[str, ...] = ()
    """The engine's line, its move first."""
    grade: Grade | None = None
    verdict: Verdict | None = None
    """Of the tablebases for the side that moves, before the move; None if they do not have it."""

    @property
    def cost(self) -> float:
        """Expected points that the move costs, 0 to 1; 0 for a forced move and for the best one."""
        return max(0.0, self.points - self.played) if self.best != self.move else 0.0

    @property
    def black_points(self) -> float:
        """Black's expected points after the move."""
        return self.played if self.black else 1 - self.played


@dataclass(frozen=True, kw_only=True)
class GameReport:
    """A game that was analysed."""

    plies: tuple[PlyReport, ...]
    start: float
    """Black's expected points in the first position."""
    verdict: Verdict | None = None
    """Of the tables for the side to move in the last position."""
    black_to_move: bool
    """Who is to move in the last position."""
    result: str | None = None
    """The result of the game, as PDN; "1-0": Black won."""
    positions: int = 0
    """Positions searched, those within lines that were checked included."""
    theory: str = ""
    """Where tables and result part, a sentence: `Drawn by the tables, lost by Black in the game.`"""

    def curve(self) -> list[float]:
        """Return Black's expected points in the first position and after each move."""
        return [self.start, *(ply.black_points for ply in self.plies)]

    def marked(self) -> list[int]:
        """Return the plies, from 0, of the moves that have a grade."""
        return [n for n, ply in enumerate(self.plies) if ply.grade is not None]

    def plain(self) -> dict[str, Any]:
        """Return the report as data for JSON."""
        return asdict(self)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Return the report that `plain` gave.

        Raises:
            KeyError, TypeError, ValueError: the data are of another form.
        """
        plies = tuple(_read_ply(each) for each in data["plies"])
        return cls(**{**data, "plies": plies})


def _read_ply(data: Mapping[str, Any]) -> PlyReport:
    grade = None if data["grade"] is None else Grade(data["grade"])
    return PlyReport(**{**data, "line": tuple(data["line"]), "grade": grade})


@dataclass
class Progress:
    """How far an analysis has come."""

    games: int = 0
    plies: int = 0
    positions: int = 0
    kept: int = 0
    """Games that an earlier, interrupted analysis had done."""
    grades: dict[str, int] = field(default_factory=dict)
