"""The solver of Connect-4: the true value of every position, with the number of plies to the end."""

from pathlib import Path

import numpy as np

from ckai.rl.games.connect4 import kernels
from ckai.rl.games.grid import GridPosition
from ckai.rl.games.solving import SolvedValue, Solver

BOOK = Path(__file__).with_name("book.npz")
"""Arrays `keys` and `bounds`, see `kernels.negamax`; `benchmarks/games/connect4.py` made it."""
BYTES = 5
"""Memory of an entry of the table."""


class Connect4Solver(Solver):
    """Solves positions by search; earlier results make related positions faster."""

    def __init__(self, megabytes: int = 80, *, book: bool = True) -> None:
        """Allocate the table of bounds.

        Args:
            megabytes: memory of the table; the first position takes about 500 without the book.
            book: whether to use the installed book; otherwise all is found by search.
        """
        size = megabytes * 2**20 // BYTES | 1
        self._table = np.zeros(size, np.uint32), np.zeros(size, np.uint8)
        self._book = np.zeros(0, np.int64), np.zeros((0, 2), np.int8)
        if book:
            with np.load(BOOK) as file:
                self._book = file["keys"], file["bounds"]

    def score_of(self, own: int, taken: int) -> int:
        """Return the score, see `kernels`, of the stones of the side to move and all stones in play."""
        return int(kernels.solve(np.int64(own), np.int64(taken), *self._table, *self._book))

    def solve(self, position: GridPosition) -> SolvedValue:
        """See `Solver`."""
        if position.outcome() is not None:
            return super().solve(position)
        own, other = position.state
        return solved_value(self.score_of(own, own | other), (own | other).bit_count())


def solved_value(score: int, stones: int) -> SolvedValue:
    """Return what a score for the side to move says, see `kernels`, with so many stones on the board."""
    half = kernels.SQUARES // 2 + 1
    if not score:
        return SolvedValue(0, kernels.SQUARES - stones)
    if score > 0:
        return SolvedValue(1, 2 * (half - score - stones // 2) - 1)
    return SolvedValue(-1, 2 * (half + score - (stones + 1) // 2))
