"""Ratings of the players of a round robin.

Ratings are maximum likelihood estimates of the model of Bradley and Terry (1952), with a draw as half a win
and half a loss, by the MM algorithm of Hunter (2004). One drawn game against an average player is added for
each player, so that ratings stay finite. Standard errors are from bootstrapping the pairs of games (Efron
1979).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ckai.rl.matches.elo import MOST_ELO, Z95, PairStatistics

T = TypeVar("T")
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


def ratings(players: int, pairs: PairScores, *, resamples: int = 200, seed: int = 0) -> list[Rating]:
    """Rate all players.

    Args:
        players: number of players.
        pairs: scores of the pairs of games.
        resamples: bootstrap samples for the intervals.
        seed: seed of the bootstrap.

    Returns:
        A rating for each player, in order.
    """
    estimate = fit(players, pairs)
    rng = np.random.default_rng(seed)
    samples = []
    for _ in range(resamples):
        drawn = {
            key: rng.choice(scores, len(scores)).tolist() for key, scores in pairs.items() if len(scores)
        }
        samples.append(fit(players, drawn))
    error = np.std(samples, axis=0) if samples else np.zeros(players)
    points, games = np.zeros(players), np.zeros(players, np.int64)
    for (i, j), scores in pairs.items():
        points[i] += 2 * float(np.sum(scores))
        points[j] += 2 * (len(scores) - float(np.sum(scores)))
        games[[i, j]] += 2 * len(scores)
    return [
        Rating(
            float(estimate[n]),
            float(estimate[n] - Z95 * error[n]),
            float(estimate[n] + Z95 * error[n]),
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
        `[players]` Elo ratings with mean 0, clipped to [-MOST_ELO, MOST_ELO].
    """
    won, met = np.full(players, 0.5), np.zeros((players, players))
    for (i, j), scores in pairs.items():
        total = float(np.sum(scores))
        won[i] += 2 * total
        won[j] += 2 * (len(scores) - total)
        met[i, j] += 2 * len(scores)
        met[j, i] += 2 * len(scores)
    strength = np.ones(players)
    for _ in range(10_000):
        met_average = 1.0 / (strength + 1.0)
        new = won / ((met / (strength[:, None] + strength[None, :])).sum(1) + met_average)
        new /= np.exp(np.log(new).mean())
        if np.abs(np.log(new / strength)).max() < 1e-9:
            break
        strength = new
    elo: Floats = np.clip(400 * np.log10(strength), -MOST_ELO, MOST_ELO)
    return elo


def thinned(items: Sequence[T], every: int) -> list[T]:
    """Return every `every`-th item, and the last."""
    chosen = list(items[::every])
    return chosen if (len(items) - 1) % every == 0 else [*chosen, items[-1]]


def cross_table(players: int, pairs: PairScores) -> Floats:
    """Return `[players, players]` scores of the row player, [0, 1], NaN where two did not meet."""
    table = np.full((players, players), np.nan)
    for (i, j), scores in pairs.items():
        if len(scores):
            table[i, j] = float(np.mean(scores))
            table[j, i] = 1 - table[i, j]
    return table


def plain(pairs: PairStatistics) -> dict[str, Any]:
    """Convert statistics to plain numbers: `pairs`, `score`, `elo`, `interval`."""
    return {
        "pairs": pairs.pairs,
        "score": pairs.score,
        "elo": pairs.elo,
        "interval": list(pairs.interval),
    }
