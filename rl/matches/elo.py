"""Elo differences with confidence intervals, from pairs of games.

Every opening is played twice, with both colours, so the two games of a pair are not independent: the sample
unit is the pair, whose score is 0, 1/4, 1/2, 3/4 or 1. An Elo difference d means an expected score of
1 / (1 + 10^(-d / 400)) (Elo 1978).

Intervals are those of Wilson (1927) for a proportion, with the number of trials that has the observed
variance: few pairs, and players that won or drew everything, have intervals of their nominal coverage.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Z95 = 1.959964
"""Half the width of a 95 % interval, in standard errors."""
MAX_ELO = 1200.0
"""Bound of all Elo differences, such as that of a player that won all games."""
PRIOR_SQUARES = 0.25
"""Sum of squared deviations added to that of the scores, as of one pair with deviation 1/2."""


def elo_of(score: float) -> float:
    """Return the Elo difference for an expected score in [0, 1], clipped to [-MAX_ELO, MAX_ELO]."""
    if score <= 0 or score >= 1:
        return MAX_ELO if score >= 1 else -MAX_ELO
    return max(-MAX_ELO, min(MAX_ELO, 400 * math.log10(score / (1 - score))))


def score_of(elo: float) -> float:
    """Return the expected score, in (0, 1), for an Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


def wilson(share: float, trials: float) -> tuple[float, float]:
    """Return the 95 % interval of a share, within [0, 1] (Wilson 1927).

    Args:
        share: the observed one, [0, 1].
        trials: how many it was observed in; without any the interval is all of [0, 1].
    """
    if not trials:
        return 0.0, 1.0
    centre = share + Z95**2 / (2 * trials)
    margin = Z95 * math.sqrt(share * (1 - share) / trials + Z95**2 / (4 * trials * trials))
    low, high = ((centre + side * margin) / (1 + Z95**2 / trials) for side in (-1, 1))
    return min(max(0.0, low), share), max(min(1.0, high), share)


def bounded(elo: float) -> float | None:
    """Return an Elo difference, or None where it has no bound, such as after a match that was all won."""
    return elo if abs(elo) < MAX_ELO else None


def elo_text(elo: float, low: float, high: float) -> str:
    """Return an Elo difference with its interval, for a table: `+20 (-5 to +45)`, or `above +95`."""
    if bounded(low) is None:
        return "unknown" if bounded(high) is None else f"below {high:+.0f}"
    return f"above {low:+.0f}" if bounded(high) is None else f"{elo:+.0f} ({low:+.0f} to {high:+.0f})"


@dataclass(frozen=True)
class PairStatistics:
    """The score of A against B, estimated from pairs of games.

    Attributes:
        pairs: number of pairs.
        score: A's mean score, [0, 1].
        error: standard error of the score.
    """

    pairs: int
    score: float
    error: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> "PairStatistics":
        """Estimate from A's score in each pair, [0, 1].

        A prior pair with deviation 1/2 is added to the variance, so that a few equal pairs are not certain.
        """
        n = len(scores)
        if n == 0:
            return cls(0, 0.5, 0.5)
        mean = float(np.mean(scores))
        squares = float(np.sum((np.asarray(scores) - mean) ** 2)) + PRIOR_SQUARES
        return cls(n, mean, math.sqrt(squares / (n + 1) / n))

    @property
    def elo(self) -> float:
        """Elo difference; positive if A is better."""
        return elo_of(self.score)

    @property
    def _shrunk_score(self) -> float:
        return (self.pairs * self.score + 0.5) / (self.pairs + 1)

    @property
    def shrunk_elo(self) -> float:
        """Elo difference with one more pair, half won and half lost, which bounds it in a short match."""
        return elo_of(self._shrunk_score)

    @property
    def json(self) -> dict[str, Any]:
        """`pairs`, `elo` and its 95 % `interval`, with null for what has no bound."""
        ends = [bounded(end) for end in self.interval]
        return {"pairs": self.pairs, "elo": bounded(self.elo), "interval": ends}

    @property
    def score_interval(self) -> tuple[float, float]:
        """95 % interval of the score, within [0, 1], of as many won or lost games as vary as much."""
        expected = self._shrunk_score
        return wilson(self.score, expected * (1 - expected) / self.error**2 if self.pairs else 0.0)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the Elo difference, see `score_interval`."""
        low, high = self.score_interval
        return elo_of(low), elo_of(high)

    def __str__(self) -> str:
        return f"{elo_text(self.elo, *self.interval)} Elo"
