"""The sequential probability ratio test (SPRT) of two players."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckai.rl.matches.elo import PRIOR_SQUARES, PairStatistics, score_of

ERROR = 0.05
"""Probability of accepting elo1 when elo0 is true, and of the reverse."""


@dataclass(frozen=True)
class SprtResult:
    """What a test has found so far, or decided.

    Attributes:
        verdict: True if elo1 was accepted, False if elo0 was, None if undecided.
        ratio: log-likelihood ratio of elo1 to elo0.
        pairs: the pairs that the ratio is of: those up to the one that decided, or all.
    """

    verdict: bool | None
    ratio: float
    pairs: PairStatistics


@dataclass(frozen=True)
class Sprt:
    """A test of "the Elo difference is elo1" against "it is elo0" that may stop after any pair.

    The log-likelihood ratio assumes normally distributed scores with the observed variance (Van den Bergh, "A
    practical introduction to the GSPRT", after Wald 1945).

    Raises:
        ValueError: elo0 is not below elo1, or one of them is not a finite number.
    """

    elo0: float = 0.0
    elo1: float = 35.0

    def __post_init__(self) -> None:
        if not -math.inf < self.elo0 < self.elo1 < math.inf:
            raise ValueError(f"expected ELO0 below ELO1, both finite, found {self.elo0:g} and {self.elo1:g}")

    def test(self, scores: Sequence[float]) -> SprtResult:
        """Decide after the first pair at which the ratio leaves its bounds.

        Later pairs change nothing, so games that end after the decision do not, nor does a restart.

        Args:
            scores: A's score in each pair, [0, 1], in the order of the openings without a gap, see
                `MatchResult.leading_scores`.
        """
        if not scores:
            return SprtResult(None, 0.0, PairStatistics.of([]))
        ratios = self._ratios(np.asarray(scores, np.float64))
        outside = np.flatnonzero(np.abs(ratios) >= math.log((1 - ERROR) / ERROR))
        end = int(outside[0]) if len(outside) else len(ratios) - 1
        verdict = bool(ratios[end] > 0) if len(outside) else None
        return SprtResult(verdict, float(ratios[end]), PairStatistics.of(scores[: end + 1]))

    def _ratios(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log-likelihood ratio after each pair, with the errors of `PairStatistics`."""
        n = np.arange(1, len(scores) + 1)
        mean = np.cumsum(scores) / n
        squares = np.maximum(np.cumsum(scores**2) - n * mean**2, 0) + PRIOR_SQUARES
        s0, s1 = score_of(self.elo0), score_of(self.elo1)
        return (s1 - s0) * (2 * mean - s0 - s1) / (2 * squares / (n + 1) / n)
