"""Scores as Elo differences, with intervals from pairs of games.

Every opening is played twice with colours exchanged, so the two games of a pair are not independent: the
unit is the pair, whose score is one of 0, 1/4, 1/2, 3/4, 1. An Elo difference d means an expected score of
1 / (1 + 10^(-d / 400)) (Elo 1978).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Z95 = 1.959964
"""Standard errors on each side of a 95 % interval."""
MOST_ELO = 1200.0
"""Nobody can say more of a player that won all games."""


def elo_of(score: float) -> float:
    """The Elo difference of an expected score in [0, 1], between -MOST_ELO and MOST_ELO."""
    if score <= 0 or score >= 1:
        return MOST_ELO if score >= 1 else -MOST_ELO
    return max(-MOST_ELO, min(MOST_ELO, 400 * math.log10(score / (1 - score))))


def score_of(elo: float) -> float:
    """The expected score of an Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclass(frozen=True)
class PairStatistics:
    """What pairs of games say of A against B."""

    pairs: int
    score: float
    """A's share of the points."""
    error: float
    """Standard error of the score, from the pairs."""

    @classmethod
    def of(cls, scores: Sequence[float]) -> "PairStatistics":
        """From A's score in each pair, [0, 1].

        One pair that is half right and half wrong is added to the variance: a few pairs that all ended alike
        are not certain.
        """
        n = len(scores)
        if n == 0:
            return cls(0, 0.5, 0.5)
        mean = float(np.mean(scores))
        squares = float(np.sum((np.asarray(scores) - mean) ** 2)) + 0.25
        return cls(n, mean, math.sqrt(squares / (n + 1) / n))

    @property
    def elo(self) -> float:
        """Elo difference, A above B."""
        return elo_of(self.score)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the Elo difference, a normal one of the score."""
        wide = Z95 * self.error
        return elo_of(self.score - wide), elo_of(self.score + wide)

    @property
    def superiority(self) -> float:
        """The chance that A is the better one, as a normal score has it."""
        return 0.5 * (1 + math.erf((self.score - 0.5) / max(self.error, 1e-9) / math.sqrt(2)))

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.elo:+.0f} Elo ({low:+.0f} to {high:+.0f})"
