"""What an analysis says: scores, grades of moves, the report of a game as plain data, players' accuracy.

People read values on one scale, the score that Black, the first player, can expect, in percent; programs read
values in [-1, 1] for the side to move (`Value`), in Python, JSON, rows, Hub and GTP. A win is worth 1 point,
a draw half a point. What a move costs is told in expected points, so that a slip that leaves a won game won
costs little. Light, for help.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ckai.rl.engine.limit import Proof

VISITS = 200
"""Visits of the search of each position."""


def score_help(black: str = "Black") -> str:
    """Return the text that says what the numbers mean, the first player called `black`."""
    return (
        f"Values are the score that {black} can expect. 60% means: of 100 games between equal strong players "
        f"from here, {black} would score 60 points, a draw counting half. 50% is even, 100% won."
    )


def expected_score(value: float, *, black: bool = True) -> float:
    """Return the points that Black can expect, 0 to 1, a draw counting half.

    Args:
        value: in [-1, 1], for the side to move.
        black: whether that is Black; otherwise the points are the other side's.

    >>> expected_score(0.0), expected_score(1.0), expected_score(-0.5), expected_score(0.5, black=False)
    (0.5, 1.0, 0.25, 0.25)
    """
    return min(1.0, max(0.0, (1 + (value if black else -value)) / 2))


def percent(score: float) -> str:
    """Return a score from 0 to 1, or a difference of two, as people read it: `60%`."""
    return f"{math.floor(100 * score + 0.5)}%"


def score_text(score: float, black: str = "Black") -> str:
    """Return the score of Black, 0 to 1, in words: `expected score of Black: 60%`."""
    return f"expected score of {black}: {percent(score)}"


UNNAMED = {True: "? (Black)", False: "? (White)"}
"""The names of players without one: all of a side are one row, as nobody plays both sides of a game."""
POINTS = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}
"""Of Black, by the result as PDN."""
TABLE_POINTS: dict[Proof, float] = {"win": 1.0, "draw": 0.5, "loss": 0.0}
"""Of the side to move, by the result of the tables."""
VERDICTS = {1.0: "Won for Black", 0.5: "Drawn", 0.0: "Won for White"}
"""What the tables say, by Black's points."""


class Grade(StrEnum):
    """The grade of a move that costs points."""

    INACCURACY = "inaccuracy"
    MISTAKE = "mistake"
    BLUNDER = "blunder"


NAGS = {Grade.INACCURACY: 6, Grade.MISTAKE: 2, Grade.BLUNDER: 4}
"""Numeric annotation glyph of a grade: ?!, ? and ?? of the PGN standard, which PDN shares."""
SIGNS = {Grade.INACCURACY: "?!", Grade.MISTAKE: "?", Grade.BLUNDER: "??"}
"""The glyphs as people write them."""
COSTS = {Grade.INACCURACY: 0.05, Grade.MISTAKE: 0.1, Grade.BLUNDER: 0.2}
"""The least expected points that a move of each grade costs."""


def grade_of(cost: float) -> Grade | None:
    """Return the grade of a move that costs `cost` expected points, None below the least inaccuracy.

    >>> [str(grade_of(cost)) for cost in (0.0499, 0.05, 0.3 - 0.2, 0.2)]
    ['None', 'inaccuracy', 'mistake', 'blunder']
    """
    grades = [grade for grade, least in COSTS.items() if round(cost, 9) >= least]  # 0.3 - 0.2 is 0.1
    return grades[-1] if grades else None


def accuracy_of(cost: float) -> float:
    """Return the accuracy of a move, 0 to 100 %, from what it costs in expected points, 0 to 1.

    103.1668 exp(-0.04354 c) - 3.1669 with the cost c in percent, kept within 0 and 100
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

    def black_verdicts(self) -> list[float | None]:
        """Return Black's points by the tables in the first position and after each move, None without any."""
        sides = [*((ply.verdict, ply.black) for ply in self.plies), (self.verdict, self.black_to_move)]
        points = [(verdict and TABLE_POINTS[verdict], black) for verdict, black in sides]
        return [found if found is None or black else 1 - found for found, black in points]


def theory_of(report: GameReport) -> str:
    """Return a sentence about the last position of which the tables say otherwise than the game's result."""
    played = POINTS.get(report.result or "")
    verdicts = enumerate(report.black_verdicts())
    wrong = [(n, each) for n, each in verdicts if each is not None and each != played]
    if played is None or not wrong:
        return ""
    (n, found), plies = wrong[-1], report.plies
    ended = {1.0: "won by Black", 0.5: "drawn", 0.0: "won by White"}
    when = f"after {move_number(plies, n - 1)} {plies[n - 1].move}" if n else "from the start"
    return f"{VERDICTS[found]} by the tables {when}, {ended[played]} in the game."


def move_number(plies: Sequence[PlyReport], n: int) -> str:
    """Return the number of move `n`, from 0, as PDN has it: `12.` for Black, `12...` for White."""
    number = (n + (not plies[0].black)) // 2 + 1
    return f"{number}." if plies[n].black else f"{number}..."


def player_rows(games: Iterable[tuple[str | None, str | None, GameReport]]) -> list[dict[str, Any]]:
    """Add up what analysed games say of their players, as data for JSON.

    Args:
        games: names of Black and White, and the report.

    Returns:
        The players, those with the most games first, then by name. The accuracy, in percent, is the mean of
        `accuracy_of` over the moves that were not forced, the cost the mean of theirs.
    """
    played: dict[str, list[tuple[float | None, list[PlyReport]]]] = {}
    for black, white, report in games:
        score = POINTS.get(report.result or "")
        for side, given in ((True, black), (False, white)):
            name = (given or "").strip()
            name = UNNAMED[side] if name in ("", "?") else name
            mine = [ply for ply in report.plies if ply.black == side and not ply.forced]
            played.setdefault(name, []).append((score if score is None or side else 1 - score, mine))
    rows = []
    for name, each in sorted(played.items(), key=lambda of: (-len(of[1]), of[0])):
        plies = [ply for _, mine in each for ply in mine]
        known = [points for points, _ in each if points is not None]
        count, grades = max(1, len(plies)), Counter(ply.grade for ply in plies)
        accuracy, cost = sum(accuracy_of(ply.cost) for ply in plies), sum(ply.cost for ply in plies)
        rows.append(
            {
                "name": name,
                "games": len(each),
                "score": sum(known),
                "results": len(known),
                "moves": len(plies),
                "accuracy": round(accuracy / count, 2) if plies else None,
                "cost": round(cost / count, 4) if plies else None,
                **{str(grade): grades[grade] for grade in Grade},
            }
        )
    return rows
