"""What an analysis says: grades of moves, the report of a game as plain data, the accuracy of players.

A win is worth 1 point, a draw half a point. What a move costs is told in expected points, not in values, so
that a slip that leaves a won game won costs little.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from ckai.rl.analysis.config import AnalysisConfig
from ckai.rl.engine.result import Proof

OPENING_PIECES, ENDGAME_PIECES = 20, 10
"""Fewest pieces of the opening, and most of the endgame."""
UNNAMED = {True: "? (Black)", False: "? (White)"}
"""The names of players without one: all of a side are one row, as nobody plays both sides of a game."""
POINTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}
"""Of Black, by the result as PDN."""
_RESULTS = {"1-0": 1, "0-1": -1, "1/2-1/2": 0}
_VERDICTS = {"win": 1, "draw": 0, "loss": -1}


class Grade(StrEnum):
    """The grade of a move that costs points."""

    INACCURACY = "inaccuracy"
    MISTAKE = "mistake"
    BLUNDER = "blunder"


NAGS = {Grade.INACCURACY: 6, Grade.MISTAKE: 2, Grade.BLUNDER: 4}
"""Numeric annotation glyph of a grade: ?!, ? and ?? of the PGN standard, which PDN shares."""
SIGNS = {Grade.INACCURACY: "?!", Grade.MISTAKE: "?", Grade.BLUNDER: "??"}
"""The glyphs as people write them."""


class Phase(StrEnum):
    """The phase of a game, by the number of pieces on the board."""

    OPENING = "opening"
    MIDGAME = "midgame"
    ENDGAME = "endgame"


def grade_of(cost: float, config: AnalysisConfig) -> Grade | None:
    """Return the grade of a move that costs `cost` expected points, None below the least inaccuracy.

    >>> [grade_of(cost, AnalysisConfig()) for cost in (0.04, 0.05, 0.5)]
    [None, <Grade.INACCURACY: 'inaccuracy'>, <Grade.BLUNDER: 'blunder'>]
    """
    cost = round(cost, 9)  # 0.3 - 0.2 is 0.1
    if cost >= config.blunder:
        return Grade.BLUNDER
    if cost >= config.mistake:
        return Grade.MISTAKE
    return Grade.INACCURACY if cost >= config.inaccuracy else None


def phase_of(pieces: int) -> Phase:
    """Return the phase of a position with `pieces` pieces on the board.

    >>> [str(phase_of(pieces)) for pieces in (24, 19, 10)]
    ['opening', 'midgame', 'endgame']
    """
    if pieces >= OPENING_PIECES:
        return Phase.OPENING
    return Phase.ENDGAME if pieces <= ENDGAME_PIECES else Phase.MIDGAME


def accuracy_of(cost: float) -> float:
    """Return the accuracy of a move, 0 to 100 %, from what it costs in expected points, 0 to 1.

    103.1668 exp(-0.04354 c) - 3.1669 with the cost c in percent, kept within 0 and 100: what Lichess computes
    from the "win percentage" before and after a move, which is the expected points of its fitted curve
    (source: Lichess, "Accuracy metric", https://lichess.org/page/accuracy).

    >>> [round(accuracy_of(cost)) for cost in (0.0, 0.05, 0.1, 0.2, 0.5, 1.0)]
    [100, 80, 64, 40, 9, 0]
    """
    return min(100.0, max(0.0, 103.1668 * math.exp(-4.354 * cost) - 3.1669))


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
    verdict: Proof | None = None
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
    verdict: Proof | None = None
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

    def accuracy(self, black: bool) -> float | None:
        """Return the accuracy of a side, 0 to 100, None if it had no choice."""
        chosen = [accuracy_of(ply.cost) for ply in self.plies if ply.black == black and not ply.forced]
        return sum(chosen) / len(chosen) if chosen else None

    def black_verdicts(self) -> list[int | None]:
        """Return Black's result by the tables in the first position and after each move, None without one."""
        sides = [*((ply.verdict, ply.black) for ply in self.plies), (self.verdict, self.black_to_move)]
        return [
            None if verdict is None else _VERDICTS[verdict] * (1 if black else -1) for verdict, black in sides
        ]

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Return the report of what `asdict` makes of one.

        Raises:
            KeyError, TypeError, ValueError: the data are of another form.
        """
        plies = tuple(_read_ply(each) for each in data["plies"])
        return cls(**{**data, "plies": plies})


def _read_ply(data: Mapping[str, Any]) -> PlyReport:
    grade = None if data["grade"] is None else Grade(data["grade"])
    return PlyReport(**{**data, "line": tuple(data["line"]), "grade": grade})


def theory_of(report: GameReport) -> str:
    """Return a sentence if the tables say otherwise than the result of the game, else an empty text."""
    played = _RESULTS.get(report.result or "")
    verdicts = [(n, each) for n, each in enumerate(report.black_verdicts()) if each is not None]
    if played is None or not verdicts:
        return ""
    named = {1: "Won for Black", 0: "Drawn", -1: "Won for White"}
    ended = {1: "won by Black", 0: "drawn", -1: "won by White"}[played]
    plies, (end, final), (start, first) = report.plies, verdicts[-1], verdicts[0]
    if final != played and end == len(plies):
        return f"{named[final]} by the tables in the last position, {ended} in the game."
    if first == played:
        return ""
    when = f"after {move_number(plies, start - 1)} {plies[start - 1].move}" if start else "from the start"
    return f"{named[first]} by the tables {when}, {ended} in the game."


def move_number(plies: Sequence[PlyReport], n: int) -> str:
    """Return the number of move `n`, from 0, as PDN has it: `12.` for Black, `12...` for White.

    >>> from ckai.rl.analysis.report import PlyReport
    >>> ply = PlyReport(
    ...     move="9-14", black=True, pieces=24, forced=False, points=0.5, played=0.5, best="9-14"
    ... )
    >>> move_number([ply], 0)
    '1.'
    """
    number = (n + (not plies[0].black)) // 2 + 1
    return f"{number}." if plies[n].black else f"{number}..."


@dataclass
class _Tally:
    """Moves that a player chose, that is with more than one legal move."""

    moves: int = 0
    accuracy: float = 0.0
    cost: float = 0.0
    grades: Counter[Grade] = field(default_factory=Counter)

    def add(self, ply: PlyReport) -> None:
        self.moves += 1
        self.accuracy += accuracy_of(ply.cost)
        self.cost += ply.cost
        if ply.grade is not None:
            self.grades[ply.grade] += 1

    def plain(self) -> dict[str, Any]:
        return {
            "moves": self.moves,
            "accuracy": round(self.accuracy / self.moves, 2) if self.moves else None,
            "cost": round(self.cost / self.moves, 4) if self.moves else None,
            **{str(grade): self.grades[grade] for grade in Grade},
        }


@dataclass
class PlayerStatistics:
    """What the analysed games of a player add up to."""

    name: str
    games: int = 0
    score: float = 0.0
    """Points, of the games with a result."""
    results: int = 0
    """Games with a result."""
    total: _Tally = field(default_factory=_Tally)
    phases: dict[Phase, _Tally] = field(default_factory=lambda: {phase: _Tally() for phase in Phase})

    def plain(self) -> dict[str, Any]:
        """Return the row as data for JSON: counts, accuracy in percent, mean cost, and these by phase."""
        return {
            "name": self.name,
            "games": self.games,
            "score": self.score,
            "results": self.results,
            **self.total.plain(),
            "phases": {str(phase): tally.plain() for phase, tally in self.phases.items()},
        }


class PlayerTable:
    """Adds up what analysed games say of their players.

    The accuracy of a player is the mean of `accuracy_of` over the moves chosen: forced moves do not count, as
    they would flatter. (Lichess also weights moves by how volatile the game is.)
    """

    def __init__(self) -> None:
        self.players: dict[str, PlayerStatistics] = {}

    def add(self, black: str | None, white: str | None, report: GameReport) -> None:
        """Add a game, with the names of the tags Black and White."""
        given = {True: (black or "").strip(), False: (white or "").strip()}
        names = {side: UNNAMED[side] if name in ("", "?") else name for side, name in given.items()}
        score = POINTS.get(report.result or "")
        for side, name in names.items():
            player = self.players.setdefault(name, PlayerStatistics(name))
            player.games += 1
            if score is not None:
                player.results += 1
                player.score += score if side else 1 - score
        for ply in report.plies:
            if not ply.forced:
                player = self.players[names[ply.black]]
                player.total.add(ply)
                player.phases[phase_of(ply.pieces)].add(ply)

    def rows(self) -> list[dict[str, Any]]:
        """Return the players as plain data, those with the most games first, then by name."""
        ordered = sorted(self.players.values(), key=lambda player: (-player.games, player.name))
        return [player.plain() for player in ordered]
