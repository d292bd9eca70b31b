"""A sequential probability ratio test of two players."""

import math
from dataclasses import dataclass

from ckai.rl.matches.elo import PairStatistics, score_of


@dataclass(frozen=True)
class Sprt:
    """A sequential test of "A is better by elo1" against "by elo0", that may stop after any pair.

    The log-likelihood ratio is that of normal scores with the variance found (Van den Bergh, "A practical
    introduction to the GSPRT", after Wald 1945).
    """

    elo0: float = 0.0
    elo1: float = 35.0
    alpha: float = 0.05
    """Chance to accept elo1 where elo0 is true."""
    beta: float = 0.05
    """Chance to accept elo0 where elo1 is true."""

    def ratio(self, found: PairStatistics) -> float:
        """The log-likelihood ratio."""
        if not found.pairs:
            return 0.0
        s0, s1 = score_of(self.elo0), score_of(self.elo1)
        return (s1 - s0) * (2 * found.score - s0 - s1) / (2 * found.error**2)

    def verdict(self, found: PairStatistics) -> bool | None:
        """True: A is better by elo1; False: it is not; None: not known yet."""
        ratio = self.ratio(found)
        if ratio >= math.log((1 - self.beta) / self.alpha):
            return True
        if ratio <= math.log(self.beta / (1 - self.alpha)):
            return False
        return None
