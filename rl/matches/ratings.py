"""Ratings of the players of a round robin.

Ratings are maximum likelihood estimates of the model of Bradley and Terry (1952), with a draw as half a win
and half a loss, by Newton's method. One drawn game against an average player is added for each player, so
that ratings stay finite.

Intervals are those of the profile likelihood: the ratings that a player can have before twice the logarithm
of the likelihood, at the best ratings of the others, falls by more than the square of a quantile of Student's
t. It is divided by the dispersion of the pairs, whose scores vary less than those of won and lost games where
many are drawn (McCullagh, Nelder 1989, 9.2). The coverage is 94 % or more from two pairs on
(tests/rl/matches/test_tournament.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckai.rl.matches.elo import MAX_ELO, Z95

Floats = NDArray[np.float64]
PRIOR_PAIRS = 25.0
"""Pairs without overdispersion or underdispersion that are added to the pairs, see `_fall`."""
PRIOR_FREEDOM = 8.0
"""Degrees of freedom added to those of the pairs; with more, intervals of four games are too short."""
FAR, FLAT = 30.0, 1e-9
"""Bound of strengths, and information about each, where points beyond a player's games leave no maximum."""
PairScores = Mapping[tuple[int, int], Sequence[float]]
"""For players i < j the score of i in each pair of games, [0, 1]."""


@dataclass(frozen=True)
class Rating:
    """A player's rating; the mean of all players is 0.

    Attributes:
        elo: the rating.
        low: lower end of the 95 % interval.
        high: upper end of the 95 % interval.
        points: points scored, 1 for a win and 1/2 for a draw.
        games: games played.
    """

    elo: float
    low: float
    high: float
    points: float
    games: int


def ratings(players: int, pairs: PairScores) -> list[Rating]:
    """Rate all players.

    Args:
        players: number of players.
        pairs: scores of the pairs of games.

    Returns:
        A rating for each player, in order.
    """
    won, met = _results(players, pairs)
    best = _fit_many(won[None], met[None])[0]
    low, high = _profile(won, met, best, _fall(pairs, best))
    elo = _elo(best)
    games = met.sum(axis=1)
    return [
        Rating(float(elo[n]), float(low[n]), float(high[n]), float(won[n]), int(games[n]))
        for n in range(players)
    ]


def fit(players: int, pairs: PairScores) -> Floats:
    """Return the ratings of all players, `[players]`, with a mean of 0, see the module."""
    won, met = _results(players, pairs)
    return _elo(_fit_many(won[None], met[None])[0])


def _results(players: int, pairs: PairScores) -> tuple[Floats, Floats]:
    """Return `[players]` points of each player and `[players, players]` games of two players."""
    won, met = np.zeros(players), np.zeros((players, players))
    for (i, j), scores in pairs.items():
        points, games = 2 * float(np.sum(scores)), 2 * len(scores)
        won[[i, j]] += points, games - points
        met[i, j] += games
        met[j, i] += games
    return won, met


def _fall(pairs: PairScores, strength: Floats) -> float:
    """Return by how much twice the log-likelihood falls at the ends of a 95 % interval."""
    squares = expected = number = 0.0
    for (i, j), scores in pairs.items():
        mean = float(_logistic(strength[i] - strength[j]))
        squares += float(np.sum((np.asarray(scores) - mean) ** 2))
        expected += len(scores) * mean * (1 - mean) / 2
        number += len(scores)
    if not number:
        return Z95**2
    # As many more pairs that vary as those of won and lost games: a few pairs say little about dispersion.
    freedom = max(0.0, number - len(strength) + 1)
    dispersion = (squares * number / expected + PRIOR_PAIRS) / (freedom + PRIOR_PAIRS)
    # Of Student's t (Abramowitz, Stegun 1964, 26.7.5).
    quantile = Z95 + (Z95**3 + Z95) / (4 * (freedom + PRIOR_FREEDOM))
    return dispersion * quantile**2


def _profile(won: Floats, met: Floats, best: Floats, fall: float) -> tuple[Floats, Floats]:
    """Return the ends of the intervals, `[players]` each, in Elo.

    The best ratings of the others at a rating of a player's own are those at the maximum once it has some
    number of points more, or fewer, at the expense of all.
    """
    players = len(won)
    less = np.zeros(2 * players)
    more = np.full(2 * players, 1 + fall + 2 * np.sqrt(fall * met.sum()))
    own = np.eye(players) - 1 / players
    points = np.concatenate([-own, own])
    top = _log_likelihood(best, won, met)
    strength = np.repeat(best[None], 2 * players, axis=0)
    for _ in range(24):
        middle = (less + more) / 2
        strength = _fit_many(won + middle[:, None] * points, met[None], strength)
        beyond = 2 * (top - _log_likelihood(strength, won, met)) > fall
        less, more = np.where(beyond, less, middle), np.where(beyond, middle, more)
    ends = np.diagonal(_elo(strength).reshape(2, players, players), axis1=1, axis2=2)
    return ends[0], ends[1]


def _log_likelihood(strength: Floats, won: Floats, met: Floats) -> Floats:
    """Return the logarithm of the likelihood of `[..., players]` strengths, the prior games included."""
    of_two = np.logaddexp(strength[..., :, None], strength[..., None, :])
    prior = 0.5 * strength - np.logaddexp(strength, 0)
    result: Floats = ((won * strength) + prior).sum(axis=-1) - 0.5 * (met * of_two).sum(axis=(-2, -1))
    return result


def _elo(strength: Floats) -> Floats:
    """Return `[..., players]` strengths as Elo with a mean of 0."""
    centred = (strength - strength.mean(axis=-1, keepdims=True)) * 400 / np.log(10)
    elo: Floats = np.clip(centred, -MAX_ELO, MAX_ELO)
    return elo


def _fit_many(won: Floats, met: Floats, strength: Floats | None = None) -> Floats:
    """Return the strengths at the maximum of several likelihoods, `[S, players]`: logarithms of base e.

    Args:
        won: `[S, players]` points of each player.
        met: `[1 or S, players, players]` games of two players.
        strength: where to begin; None: all equal.
    """
    own = np.arange(won.shape[1])
    strength = np.zeros(won.shape) if strength is None else strength
    for _ in range(100):
        expected = _logistic(strength[:, :, None] - strength[:, None, :])
        average = _logistic(strength)
        gradient = won + 0.5 - (met * expected).sum(axis=2) - average
        weights = met * expected * (1 - expected)
        information = -weights
        information[:, own, own] += weights.sum(axis=2) + average * (1 - average) + FLAT
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        # Far from the maximum a whole step would overshoot.
        longest = np.abs(step).max(axis=1, keepdims=True)
        strength = np.clip(strength + step * np.minimum(1.0, 1.0 / np.maximum(longest, 1e-12)), -FAR, FAR)
        if longest.max() < 1e-6:
            break
    return strength


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
