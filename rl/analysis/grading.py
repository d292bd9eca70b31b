"""What a move costs in expected points, its grade, and the accuracy of a player.

A win is worth 1 point, a draw half a point. Expected points, not values, are compared, so that a slip that
leaves a won game won costs little.
"""

import math
from enum import StrEnum

from ckai.rl.analysis.config import AnalysisConfig


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


def expected_points(value: float, sharpness: float = 1.0) -> float:
    """Return the points, 0 to 1, that a value in [-1, 1] promises the side whose value it is.

    With p = (1 + value) / 2 and k = sharpness: p^k / (p^k + (1 - p)^k), the logistic curve of k times the log
    odds. A network that learned from results is calibrated, so k is 1 and the points are p.

    >>> expected_points(0.0), expected_points(1.0), expected_points(-0.5), expected_points(0.5, 2.0)
    (0.5, 1.0, 0.25, 0.9)
    """
    p = min(1.0, max(0.0, (1 + value) / 2))
    if sharpness == 1.0:
        return p
    good, bad = p**sharpness, (1 - p) ** sharpness
    return float(good / (good + bad))


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


OPENING_PIECES, ENDGAME_PIECES = 20, 10
"""Fewest pieces of the opening, and most of the endgame."""


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
