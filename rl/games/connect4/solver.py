"""The solver of Connect-4: the true value of every position, with the number of plies to the end."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ckai.rl.games.connect4 import kernels
from ckai.rl.games.connect4.book import INSTALLED, Book, positions_with
from ckai.rl.games.connect4.classes import INSTALLED as CLASSES_INSTALLED
from ckai.rl.games.connect4.classes import read_classes, solved_value
from ckai.rl.games.grid import GridPosition
from ckai.rl.games.solving import SolvedPosition, SolvedValue, Solver

BYTES = 5
"""Memory of an entry of the table."""


class Connect4Solver(Solver):
    """Solves positions; earlier results make related positions faster. Not thread-safe.

    Attributes:
        keys, bounds: the table, see `kernels.negamax`.
    """

    def __init__(self, megabytes: int = 80, book: Path | None = INSTALLED) -> None:
        """Allocate the table of bounds.

        Args:
            megabytes: memory of the table, at least 1; the first position takes about 500 without a book.
            book: file of what needs no search, see `Book`; None: all is found by search.

        Raises:
            ValueError: an argument is out of range, or the file is no book.
        """
        if megabytes < 1:
            raise ValueError(f"expected at least 1 megabyte, found {megabytes}")
        size = megabytes * 2**20 // BYTES | 1
        self.keys, self.bounds = np.zeros(size, np.uint32), np.zeros(size, np.uint8)
        self._visited = np.zeros(1, np.int64)
        loaded = None if book is None else Book.load(book)
        self._book_stones = -1 if loaded is None else loaded.stones
        self._book = _table(loaded)

    @property
    def visited(self) -> int:
        """Positions searched so far."""
        return int(self._visited[0])

    def score(self, position: GridPosition) -> int:
        """Return the score of a position, see `ckai.rl.games.connect4.kernels`.

        Raises:
            ValueError: the game is over.
        """
        if position.outcome() is not None:
            raise ValueError("expected a position in which the game goes on, found its end")
        own, other = position.state
        return self.score_of(own, own | other)

    def score_of(self, own: int, taken: int) -> int:
        """Return the score of the stones of the side to move and all stones, where the game goes on."""
        arrays = self.keys, self.bounds, *self._book
        words = np.int64(own), np.int64(taken)
        return int(kernels.solve(*words, *arrays, self._book_stones, self._visited))

    def solve(self, position: GridPosition) -> SolvedValue:
        """See `Solver`."""
        outcome = position.outcome()
        if outcome is not None:
            return SolvedValue(0 if outcome.winner is None else -1, 0)
        return solved_value(self.score(position), sum(map(int.bit_count, position.state)))

    def classes(self) -> Mapping[str, Sequence[SolvedPosition]]:
        """See `Solver` and `ckai.rl.games.connect4.classes`."""
        return _installed_classes()


@cache
def _installed_classes() -> Mapping[str, Sequence[SolvedPosition]]:
    return read_classes(CLASSES_INSTALLED)


def _table(book: Book | None) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
    """Return the keys and bounds of a book as the search looks them up; at most half full."""
    count = 0 if book is None else len(book.bounds)
    size = 1 << (2 * count).bit_length()
    keys, bounds = np.zeros(size, np.int64), np.zeros((size, 2), np.int8)
    if book is not None:
        kernels.fill_book(positions_with(book.stones).keys, book.bounds, keys, bounds)
    return keys, bounds
