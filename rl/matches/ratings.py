"""Ratings of the players of a round robin.

Ratings are maximum likelihood estimates of the model of Bradley and Terry (1952), with a draw as half a win
and half a loss, by Newton's method. One drawn game against an average player is added for each player, so
that ratings stay finite.

Intervals are from the weighted likelihood bootstrap (Newton, Raftery 1994): every pair of games has a random
weight, exponentially distributed, and the ratings are fitted again. Where all pairs of a match are alike, as
is likely if they are few, that alone would say that their score is certain. So each player has one more pair
in the weights, half won and half lost, dealt to its matches. The coverage is near 95 % from two pairs on
(tests/rl/matches/test_tournament.py).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.rl.matches.elo import MAX_ELO

Floats = NDArray[np.float64]
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


def ratings(players: int, pairs: PairScores, *, resamples: int = 1000, seed: int = 0) -> list[Rating]:
    """Rate all players.

    Args:
        players: number of players.
        pairs: scores of the pairs of games.
        resamples: number of bootstrap weights for the intervals.
        seed: seed of these weights.

    Returns:
        A rating for each player, in order.
    """
    estimate = fit(players, pairs)
    samples = _fit_many(*_weighted(players, pairs, resamples, np.random.default_rng(seed)))
    low, high = np.percentile(samples, [2.5, 97.5], axis=0)
    points, games = np.zeros(players), np.zeros(players, np.int64)
    for (i, j), scores in pairs.items():
        points[i] += 2 * float(np.sum(scores))
        points[j] += 2 * (len(scores) - float(np.sum(scores)))
        games[[i, j]] += 2 * len(scores)
    return [
        Rating(
            float(estimate[n]),
            float(min(low[n], estimate[n])),
            float(max(high[n], estimate[n])),
            float(points[n]),
            int(games[n]),
        )
        for n in range(players)
    ]


def fit(players: int, pairs: PairScores) -> Floats:
    """Fit the ratings.

    Args:
        players: number of players.
        pairs: scores of the pairs of games; each counts as two games.

    Returns:
        `[players]` Elo ratings with mean 0, clipped to [-MAX_ELO, MAX_ELO].
    """
    won, met = np.zeros((1, players)), np.zeros((1, players, players))
    for match, scores in pairs.items():
        _add_match(won, met, match, 2 * np.sum(scores), 2.0 * len(scores))
    elo: Floats = _fit_many(won, met)[0]
    return elo


def _add_match(won: Floats, met: Floats, match: tuple[int, int], points: Any, games: Any) -> None:
    """Add the points of player i, and the games, of a match of i and j to the sums of all samples."""
    i, j = match
    won[:, i] += points
    won[:, j] += games - points
    met[:, i, j] += games
    met[:, j, i] += games


def _weighted(
    players: int, pairs: PairScores, samples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draw weights of the pairs, see the module.

    Returns:
        `[samples, players]` weighted points, `[samples, players, players]` weighted games of two players.
    """
    won, met = np.zeros((samples, players)), np.zeros((samples, players, players))
    played = {match: np.asarray(scores, np.float64) for match, scores in pairs.items() if len(scores)}
    matches = np.bincount([player for match in played for player in match], minlength=players)
    for (i, j), scores in played.items():
        weights = rng.exponential(size=(samples, len(scores)))
        # Half a pair lost and half a pair won, shared among the matches of a player.
        prior = rng.gamma(0.5 / float(np.mean(matches[[i, j]])), size=(samples, 2))
        _add_match(
            won,
            met,
            (i, j),
            2 * (weights @ scores + prior[:, 1]),
            2 * (weights.sum(axis=1) + prior.sum(axis=1)),
        )
    return won, met


def _fit_many(won: Floats, met: Floats) -> Floats:
    """Fit the ratings of several samples.

    Args:
        won: `[S, players]` points of each player.
        met: `[S, players, players]` games of two players.

    Returns:
        `[S, players]`, see `fit`.
    """
    own = np.arange(won.shape[1])
    strength = np.zeros(won.shape)  # its logarithm, of base e
    for _ in range(100):
        expected = _logistic(strength[:, :, None] - strength[:, None, :])
        average = _logistic(strength)
        gradient = won + 0.5 - (met * expected).sum(axis=2) - average
        weights = met * expected * (1 - expected)
        information = -weights
        information[:, own, own] += weights.sum(axis=2) + average * (1 - average)
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        # Far from the maximum a whole step would overshoot.
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1.0, 1.0 / np.maximum(longest, 1e-12))
        strength += step
        if longest.max() < 1e-9:
            break
    centred = (strength - strength.mean(axis=1, keepdims=True)) * 400 / np.log(10)
    elo: Floats = np.clip(centred, -MAX_ELO, MAX_ELO)
    return elo


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
