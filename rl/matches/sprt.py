"""The sequential probability ratio test (SPRT) of two players."""

import math
from dataclasses import dataclass

from ckai.rl.matches.elo import PairStatistics, score_of


@dataclass(frozen=True)
class Sprt:
    """A test of "the Elo difference is elo1" against "it is elo0" that may stop after any pair.

    The log-likelihood ratio assumes normally distributed scores with the observed variance (Van den Bergh, "A
    practical introduction to the GSPRT", after Wald 1945).
    """

    elo0: float = 0.0
    elo1: float = 35.0
    alpha: float = 0.05
    """Probability of accepting elo1 when elo0 is true."""
    beta: float = 0.05
    """Probability of accepting elo0 when elo1 is true."""

    def ratio(self, pairs: PairStatistics) -> float:
        """Return the log-likelihood ratio of elo1 to elo0."""
        if not pairs.pairs:
            return 0.0
        s0, s1 = score_of(self.elo0), score_of(self.elo1)
        return (s1 - s0) * (2 * pairs.score - s0 - s1) / (2 * pairs.error**2)

    def verdict(self, pairs: PairStatistics) -> bool | None:
        """Return True if elo1 is accepted, False if elo0 is, None if undecided."""
        ratio = self.ratio(pairs)
        if ratio >= math.log((1 - self.beta) / self.alpha):
            return True
        if ratio <= math.log(self.beta / (1 - self.alpha)):
            return False
        return None
