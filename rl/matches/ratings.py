"""Many players: a round robin with ratings, and a ladder of opponents of known order.

Ratings are those under which the scores found are likeliest (Bradley and Terry 1952; a draw is half a win and
half a loss), found by the minorisation of Hunter (2004). One drawn game with an average player is added for
each, so that a player that won all its games has a rating too. Their errors are from resampling the pairs of
games (Efron 1979).
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
    """A player's rating; all of a tournament have the mean 0."""

    elo: float
    low: float
    high: float
    """95 % interval."""
    points: float
    games: int


def ratings(players: int, pairs: PairScores, *, resamples: int = 200, seed: int = 0) -> list[Rating]:
    """Ratings of all players.

    Args:
        players: how many.
        pairs: what they scored.
        resamples: for the intervals.
        seed: of the resampling.
    """
    middle = fit(players, pairs)
    rng = np.random.default_rng(seed)
    others = []
    for _ in range(resamples):
        drawn = {
            key: rng.choice(scores, len(scores)).tolist() for key, scores in pairs.items() if len(scores)
        }
        others.append(fit(players, drawn))
    error = np.std(others, axis=0) if others else np.zeros(players)
    points, games = np.zeros(players), np.zeros(players, np.int64)
    for (i, j), scores in pairs.items():
        points[i] += 2 * float(np.sum(scores))
        points[j] += 2 * (len(scores) - float(np.sum(scores)))
        games[[i, j]] += 2 * len(scores)
    return [
        Rating(
            float(middle[n]),
            float(middle[n] - Z95 * error[n]),
            float(middle[n] + Z95 * error[n]),
            float(points[n]),
            int(games[n]),
        )
        for n in range(players)
    ]


def fit(players: int, pairs: PairScores) -> Floats:
    """`[players]` the likeliest ratings, with the mean 0; each score stands for two games."""
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
    """Every so many of the items, and the last."""
    chosen = list(items[::every])
    return chosen if (len(items) - 1) % every == 0 else [*chosen, items[-1]]


def cross_table(players: int, pairs: PairScores) -> Floats:
    """`[players, players]` the row's score against the column, NaN where they did not meet."""
    table = np.full((players, players), np.nan)
    for (i, j), scores in pairs.items():
        if len(scores):
            table[i, j] = float(np.mean(scores))
            table[j, i] = 1 - table[i, j]
    return table


def plain(found: PairStatistics) -> dict[str, Any]:
    """Statistics as plain numbers."""
    return {
        "pairs": found.pairs,
        "score": found.score,
        "elo": found.elo,
        "interval": list(found.interval),
    }
