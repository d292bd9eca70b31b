"""Which rows an epoch of training takes, as indices."""

import numpy as np
from numpy.typing import NDArray


def epoch_size(rows: int, weight: float) -> int:
    """Rows that an epoch takes from `rows` rows, repetitions counted."""
    return int(weight) * rows + round((weight - int(weight)) * rows)


def draw(rows: int, weight: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Indices of the rows an epoch takes: all of them int(weight) times, and a random share for the rest."""
    whole = np.tile(np.arange(rows), int(weight))
    rest = epoch_size(rows, weight) - len(whole)
    return np.concatenate([whole, rng.permutation(rows)[:rest]]) if rest else whole
