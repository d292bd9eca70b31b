"""Which rows an epoch of training takes, as indices."""

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.rows import Rows


def resample(rows: Rows, share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices of N rows resampled by policy KL, by systematic sampling.

    A row is expected (1 - share) + share * KL / mean KL times (policy surprise weighting: Wu, "Other methods
    implemented in KataGo", 2020), and once if its KL is not known (NaN).
    """
    known = np.zeros(len(rows), bool) if rows.surprise is None else ~np.isnan(rows.surprise)
    if rows.surprise is None or not rows.surprise[known].any():
        return np.arange(len(rows))
    mean = rows.surprise[known].mean(dtype=np.float64)
    expected = np.where(known, 1 - share + share * rows.surprise.astype(np.float64) / mean, 1.0)
    ends = np.cumsum(expected)
    return np.minimum(np.searchsorted(ends, np.arange(len(rows)) + rng.random()), len(rows) - 1)


def epoch_size(rows: int, weight: float) -> int:
    """Rows that an epoch takes from `rows` rows, repetitions counted."""
    return int(weight) * rows + round((weight - int(weight)) * rows)


def draw(rows: int, weight: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices of the rows an epoch takes: all of them int(weight) times, and a random share for the rest."""
    whole = np.tile(np.arange(rows), int(weight))
    rest = epoch_size(rows, weight) - len(whole)
    return np.concatenate([whole, rng.permutation(rows)[:rest]]) if rest else whole
