"""The true value of Connect-4 positions, with the number of plies to the end."""

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import whole_file
from ckai.rl.games.connect4 import SPEC
from ckai.rl.games.grid import GridPosition
from ckai.rl.solved import connect4_kernels as kernels

BYTES = 5
"""Memory of an entry of the table."""
NO_BOOK = -1
BOOK_SIZE = 1 << 22
"""Places of a book: `negamax` never fills half of them with positions of up to 10 stones."""


class Truth(NamedTuple):
    """The true value of a position."""

    value: int
    """1 if the side to move wins with best play of both, -1 if it loses, 0 for a draw."""
    plies: int
    """Stones until the end, if the winner hurries and the loser delays; in a draw until the board is full."""


class Book(NamedTuple):
    """Bounds of the scores of positions with few stones, as a solver met them."""

    stones: int
    """Most stones of its positions."""
    keys: NDArray[np.int64]
    """`[n]`, of the positions, see `ckai.rl.solved.connect4_kernels.negamax`."""
    bounds: NDArray[np.uint8]
    """`[n]`, see there."""

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
                book = cls(int(file["stones"]), file["keys"], file["bounds"])
            if book.keys.dtype != np.int64 or book.bounds.shape != book.keys.shape:
                raise ValueError("its arrays are of other types or lengths")
            return book
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path}: expected a book of Connect-4, found none ({error})") from error


class Connect4Solver:
    """Solves positions; what it has seen makes related ones faster. Not for several threads at once."""

    def __init__(self, megabytes: int = 80, *, book_stones: int = NO_BOOK, book: Book | None = None) -> None:
        """Allocate the table of bounds.

        Args:
            megabytes: of its memory, at least 1; the first position wants some 500 without a book.
            book_stones: keep the bounds of all positions with at most so many stones for `book`; -1: none.
            book: of another solver; then `book_stones` are its own.

        Raises:
            ValueError: an argument is out of range.
        """
        if megabytes < 1:
            raise ValueError(f"expected at least 1 megabyte, found {megabytes}")
        self._book_stones = book_stones if book is None else book.stones
        size = megabytes * 2**20 // BYTES | 1
        self._keys, self._bounds = np.zeros(size, np.uint32), np.zeros(size, np.uint8)
        self._book = np.zeros(BOOK_SIZE, np.int64), np.zeros(BOOK_SIZE, np.uint8)
        self._visited = np.zeros(1, np.int64)
        if book is not None:
            kernels.fill_book(book.keys, book.bounds, *self._book)

    def book(self) -> Book:
        """Return what has been learned of the positions with few stones."""
        keys, bounds = self._book
        return Book(self._book_stones, keys[keys != 0], bounds[keys != 0])

    @property
    def visited(self) -> int:
        """Positions searched so far."""
        return int(self._visited[0])

    def score(self, position: GridPosition) -> int:
        """Return the score of a position, see `ckai.rl.solved.connect4_kernels`.

        Raises:
            ValueError: the game is over.
        """
        own, other = position.state
        if SPEC.game(position).outcome() is not None:
            raise ValueError("expected a position in which the game goes on, found its end")
        return self._solve(own, own | other)

    def solve(self, position: GridPosition) -> Truth:
        """Return the true value of a position and the plies to the end.

        Raises:
            ValueError: the game is over.
        """
        stones = sum(map(int.bit_count, position.state))
        return truth_of(self.score(position), stones)

    def move_scores(self, position: GridPosition) -> Mapping[int, int]:
        """Return the score of every legal column, 0 to 6, for the side to move.

        Raises:
            ValueError: the game is over.
        """
        self.score(position)  # raises; and fills the table
        own, other = position.state
        taken, out = own | other, dict[int, int]()
        for column in range(7):
            move = (taken + (1 << 7 * column)) & 0o77 << 7 * column & ~taken
            if not move:
                continue
            if kernels.winning_squares(own, taken) & move:
                out[column] = (kernels.SQUARES + 1 - taken.bit_count()) // 2
            elif (taken | move).bit_count() == kernels.SQUARES:
                out[column] = 0
            else:
                out[column] = -self._solve(other, taken | move)
        return out

    def _solve(self, own: int, taken: int) -> int:
        arrays = self._keys, self._bounds, *self._book
        words = np.int64(own), np.int64(taken)
        return int(kernels.solve(*words, *arrays, self._book_stones, self._visited))


def truth_of(score: int, stones: int) -> Truth:
    """Return what a score says.

    Args:
        score: for the side to move, see `ckai.rl.solved.connect4_kernels`.
        stones: on the board.
    """
    if not score:
        return Truth(0, kernels.SQUARES - stones)
    if score > 0:
        return Truth(1, 2 * (kernels.SQUARES // 2 + 1 - score - stones // 2) - 1)
    return Truth(-1, 2 * (kernels.SQUARES // 2 + 1 + score - (stones + 1) // 2))
