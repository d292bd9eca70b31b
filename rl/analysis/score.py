"""The one scale on which people read values: the score that Black, the first player, can expect, in percent.

Programs read values in [-1, 1] for the side to move (`Value`), in Python, JSON, rows, Hub and GTP.
"""

import math


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
