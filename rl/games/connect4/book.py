"""A book of Connect-4: what is known of the positions with a number of stones; earlier ones follow from it.

The positions themselves are not stored: they are listed in a fixed order, and only score bounds are kept.
"""

import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import whole_file
from ckai.rl.games.connect4 import kernels

INSTALLED = Path(__file__).with_name("book.npz")
"""The book that is installed with ckai."""
DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError)
"""What numpy raises for a damaged file, besides what it documents."""
MAX_STONES = 10
"""Most stones of the positions in a book: there are a million positions with 10."""


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
    """Bounds of the scores of all positions with a number of stones."""

    stones: int
    """0 to `MAX_STONES`."""
    bounds: NDArray[np.int8]
    """`[n, 2]`, the least and the most that the score can be, for the side to move, in the order of
    `positions_with`. They are equal where the score is known."""

    @classmethod
    def empty(cls, stones: int) -> "Book":
        """Return a book that knows nothing.

        Raises:
            ValueError: the number of stones is out of range.
        """
        if not 0 <= stones <= MAX_STONES:
            raise ValueError(f"expected a book of 0 to {MAX_STONES} stones, found {stones}")
        any_score = np.array([-kernels.HIGHEST, kernels.HIGHEST], np.int8)
        return cls(stones, np.tile(any_score, (len(positions_with(stones).keys), 1)))

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
                stones, bounds = int(file["stones"]), file["bounds"]
            wanted = cls.empty(stones).bounds
            if bounds.dtype != wanted.dtype or bounds.shape != wanted.shape:
                raise ValueError(f"{bounds.shape} bounds of {bounds.dtype} for {stones} stones")
            return cls(stones, bounds)
        except (OSError, ValueError, KeyError, TypeError, *DAMAGED) as error:
            raise ValueError(f"{path}: expected a book of Connect-4, found none ({error})") from error
