"""A book of Connect-4: the scores of positions with a number of stones, from which the earlier ones follow.

The positions stand in no file: they are easily listed in a fixed order, and their scores are enough.
"""

import zipfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import whole_file
from ckai.rl.games.connect4 import kernels

INSTALLED = Path(__file__).with_name("book.npz")
"""The book that is installed with ckai."""
MOST_STONES = 10
"""Of a book: there are a million positions with 10 stones."""


class Positions(NamedTuple):
    """Positions of Connect-4; of a position and its mirror image, the one with the smaller key."""

    own: NDArray[np.int64]
    """`[n]`, stones of the side to move."""
    taken: NDArray[np.int64]
    """`[n]`, all stones."""
    keys: NDArray[np.int64]
    """`[n]`, increasing, see `ckai.rl.games.connect4.kernels`."""


@cache
def positions_with(stones: int) -> Positions:
    """Return all positions with a number of stones in which the game goes on, in the order of their keys."""
    if stones == 0:
        return Positions(*np.array([[0], [0], [kernels.BOTTOM]], np.int64))
    before = positions_with(stones - 1)
    found = [_after(before, column) for column in range(7)]
    own, taken = (np.concatenate(parts) for parts in zip(*found, strict=True))
    keys = own + taken + kernels.BOTTOM
    folded, first = np.unique(np.minimum(keys, kernels.mirrored(keys)), return_index=True)
    return Positions(own[first], taken[first], folded)


def _after(before: Positions, column: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the stones of the side to move, and all, after a stone in a column, where the game goes on."""
    moves = before.taken + (1 << 7 * column) & 0o77 << 7 * column
    goes_on = (moves != 0) & (kernels.winning_squares(before.own, before.taken) & moves == 0)
    return (before.own ^ before.taken)[goes_on], (before.taken | moves)[goes_on]


class Book(NamedTuple):
    """The scores of all positions with a number of stones, or of some of them."""

    stones: int
    """0 to `MOST_STONES`."""
    scores: NDArray[np.int8]
    """`[n]`, for the side to move, in the order of `positions_with`; `NO_SCORE` where there is none."""

    @classmethod
    def empty(cls, stones: int) -> "Book":
        """Return a book without scores.

        Raises:
            ValueError: the number of stones is out of range.
        """
        if not 0 <= stones <= MOST_STONES:
            raise ValueError(f"expected a book of 0 to {MOST_STONES} stones, found {stones}")
        return cls(stones, np.full(len(positions_with(stones).keys), kernels.NO_SCORE, np.int8))

    def save(self, path: Path) -> None:
        """Write a file."""
        with whole_file(path) as file:
            np.savez_compressed(file, **self._asdict())

    @classmethod
    def load(cls, path: Path) -> "Book":
        """Read a file.

        Raises:
            ValueError: it is no book.
        """
        try:
            with np.load(path, allow_pickle=False) as file:
                stones, scores = int(file["stones"]), file["scores"]
            wanted = cls.empty(stones).scores
            if scores.dtype != wanted.dtype or scores.shape != wanted.shape:
                raise ValueError(f"{scores.shape} scores of {scores.dtype} for {stones} stones")
            return cls(stones, scores)
        except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: expected a book of Connect-4, found none ({error})") from error
