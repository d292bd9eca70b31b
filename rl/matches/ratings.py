"""Ratings of the players of a round robin.

Ratings are maximum likelihood estimates of the model of Bradley and Terry (1952), with a draw as half a win
and half a loss, by Newton's method. One drawn game against an average player is added for each player, so
that ratings stay finite.

Intervals are those of the normal distribution with the information at the maximum, times the dispersion of
the pairs, whose scores vary less than those of won and lost games where many are drawn (McCullagh, Nelder
1989, 9.2). The coverage is 95 % or more from one pair on (tests/rl/matches/test_tournament.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckai.rl.matches.elo import MAX_ELO, Z95

Floats = NDArray[np.float64]
ELO = 400 / np.log(10)
"""Elo of a strength, a logarithm of base e."""
PRIOR_PAIRS = 25.0
"""Pairs without overdispersion or underdispersion that are added to the pairs."""
PairScores = Mapping[tuple[int, int], Sequence[float]]
"""For players i < j the score of i in each pair of games, [0, 1]."""


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
    """Rate all players, in order, by the scores of their pairs of games."""
    won, met = _results(players, pairs)
    strength, information = _fit(won, met)
    mean = np.eye(players) - 1 / players
    variance = np.diagonal(mean @ np.linalg.inv(information) @ mean)
    half = Z95 * ELO * np.sqrt(_dispersion(pairs, strength) * variance)
    elo = ELO * (strength - strength.mean())
    low, high = (np.clip(elo + side * half, -MAX_ELO, MAX_ELO) for side in (-1, 1))
    columns = (elo.tolist(), low.tolist(), high.tolist(), won.tolist(), met.sum(axis=1).astype(int).tolist())
    return [Rating(*row) for row in zip(*columns, strict=True)]


def _results(players: int, pairs: PairScores) -> tuple[Floats, Floats]:
    """Return `[players]` points of each player and `[players, players]` games of two players."""
    won, met = np.zeros(players), np.zeros((players, players))
    for (i, j), scores in pairs.items():
        points, games = 2 * float(np.sum(scores)), 2 * len(scores)
        won[[i, j]] += points, games - points
        met[i, j] += games
        met[j, i] += games
    return won, met


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


def _dispersion(pairs: PairScores, strength: Floats) -> float:
    """Return the variance of the scores of pairs by that of won and lost games, with the prior pairs."""
    squares = expected = number = 0.0
    for (i, j), scores in pairs.items():
        mean = float(_logistic(strength[i] - strength[j]))
        squares += float(np.sum((np.asarray(scores) - mean) ** 2))
        expected += len(scores) * mean * (1 - mean) / 2
        number += len(scores)
    freedom = max(0.0, number - len(strength) + 1)
    return (squares * number / max(expected, 1e-9) + PRIOR_PAIRS) / (freedom + PRIOR_PAIRS)


def _logistic(x: Floats) -> Floats:
    result: Floats = 1 / (1 + np.exp(-x))
    return result


def cross_table(players: int, pairs: PairScores) -> Floats:
    """Return `[players, players]` scores of the row player, [0, 1], NaN where two did not meet."""
    table = np.full((players, players), np.nan)
    for (i, j), scores in pairs.items():
        if len(scores):
            table[i, j] = float(np.mean(scores))
            table[j, i] = 1 - table[i, j]
    return table
