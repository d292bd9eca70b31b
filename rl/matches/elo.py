"""Elo differences from pairs of games: intervals, the sequential test (SPRT), ratings of many players.

Every opening is played twice, with both colours, so the two games of a pair are not independent: the sample
unit is the pair, whose score is 0, 1/4, 1/2, 3/4 or 1. An Elo difference d means an expected score of
1 / (1 + 10^(-d / 400)) (Elo 1978).

Intervals are those of Wilson (1927) for a proportion, with the number of trials that has the observed
variance: few pairs, and players that won or drew everything, have intervals of their nominal coverage.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Z95 = 1.959964
"""Half the width of a 95 % interval, in standard errors."""
MAX_ELO = 1200.0
"""Bound of all Elo differences, such as that of a player that won all games."""
PRIOR_SQUARES = 0.25
"""Sum of squared deviations added to that of the scores, as of one pair with deviation 1/2."""
ERROR = 0.05
"""Probability of accepting elo1 when elo0 is true, and of the reverse."""
Floats = NDArray[np.float64]
ELO = 400 / np.log(10)
"""Elo of a strength, a logarithm of base e."""
PRIOR_PAIRS = 25.0
"""Pairs without overdispersion or underdispersion that are added to the pairs."""
PairScores = Mapping[tuple[int, int], Sequence[float]]
"""For players i < j the score of i in each pair of games, [0, 1]."""


def elo_of(score: float) -> float:
    """Return the Elo difference for an expected score in [0, 1], clipped to [-MAX_ELO, MAX_ELO]."""
    if score <= 0 or score >= 1:
        return MAX_ELO if score >= 1 else -MAX_ELO
    return max(-MAX_ELO, min(MAX_ELO, 400 * math.log10(score / (1 - score))))


def score_of(elo: float) -> float:
    """Return the expected score, in (0, 1), for an Elo difference."""
    return 1 / (1 + 10 ** (-elo / 400))


def wilson(share: float, trials: float) -> tuple[float, float]:
    """Return the 95 % interval of a share observed in some trials, within [0, 1] (Wilson 1927)."""
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
    """The score of A against B, estimated from pairs of games."""

    pairs: int
    score: float
    """A's mean score, [0, 1]."""
    error: float
    """Standard error of the score."""

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


@dataclass(frozen=True)
class SprtResult:
    """What a test has found so far, or decided."""

    verdict: bool | None
    """True if elo1 was accepted, False if elo0 was, None if undecided."""
    ratio: float
    """Log-likelihood ratio of elo1 to elo0."""
    pairs: PairStatistics
    """The pairs that the ratio is of: those up to the one that decided, or all."""


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


@dataclass(frozen=True)
class Rating:
    """A player's rating; the mean of all players is 0."""

    elo: float
    low: float
    high: float
    """Ends of its 95 % interval."""
    points: float
    """1 for a win and 1/2 for a draw."""
    games: int


def ratings(players: int, pairs: PairScores) -> list[Rating]:
    """Rate all players of a round robin, in order, by the scores of their pairs of games.

    Ratings are maximum likelihood estimates of the model of Bradley and Terry (1952), with a draw as half a
    win and half a loss, by Newton's method. One drawn game against an average player is added for each
    player, so that ratings stay finite.

    Intervals are those of the normal distribution with the information at the maximum, times the dispersion
    of the pairs, whose scores vary less than those of won and lost games where many are drawn (McCullagh,
    Nelder 1989, 9.2). The coverage is 95 % or more from one pair on (tests/rl/matches/test_tournament.py).
    """
    played = [(*meeting, score) for meeting, scores in pairs.items() for score in scores]
    first, second, score = np.array(played, np.float64).reshape(-1, 3).T
    i, j = first.astype(int), second.astype(int)
    won, met = np.zeros(players), np.zeros((players, players))
    np.add.at(won, i, 2 * score)
    np.add.at(won, j, 2 - 2 * score)
    np.add.at(met, (i, j), 2.0)
    met += met.T
    strength, information = _fit(won, met)
    mean = _logistic(strength[i] - strength[j])
    squares, expected = np.sum((score - mean) ** 2), np.sum(mean * (1 - mean)) / 2
    freedom = max(0, len(played) - players + 1) + PRIOR_PAIRS
    dispersion = (squares * len(played) / max(expected, 1e-9) + PRIOR_PAIRS) / freedom
    centred = np.eye(players) - 1 / players
    variance = np.diagonal(centred @ np.linalg.inv(information) @ centred)
    half = Z95 * ELO * np.sqrt(dispersion * variance)
    elo = ELO * (strength - strength.mean())
    low, high = (np.clip(elo + side * half, -MAX_ELO, MAX_ELO) for side in (-1, 1))
    columns = (elo.tolist(), low.tolist(), high.tolist(), won.tolist(), met.sum(axis=1).astype(int).tolist())
    return [Rating(*row) for row in zip(*columns, strict=True)]


def _fit(won: Floats, met: Floats) -> tuple[Floats, Floats]:
    """Return the `[players]` strengths at the maximum, and the `[players, players]` information there."""
    strength = np.zeros(len(won))
    while True:
        expected, average = _logistic(strength[:, None] - strength), _logistic(strength)
        gradient = won + 0.5 - (met * expected).sum(axis=1) - average
        weights = met * expected * (1 - expected)
        information = np.diag(weights.sum(axis=1) + average * (1 - average)) - weights
        step = np.linalg.solve(information, gradient)
        longest = np.abs(step).max()
        if longest < 1e-6:
            return strength, information
        strength = strength + step / max(1.0, longest)  # far from the maximum a whole step would overshoot


def _logistic(x: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-x))
    return result
