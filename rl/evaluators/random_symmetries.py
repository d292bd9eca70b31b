"""Games that are searched on a board that is rotated or reflected at random."""

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.splitmix import GOLDEN, mix
from ckai.datasets.symmetries import Indices, Symmetries, in_order
from ckai.models.inference.evaluator import Boards, Floats


class RandomSymmetries:
    """A symmetry of the board for each game, applied to all its positions before a network sees them.

    A network's bias for an orientation thus averages out over the games. AlphaGo Zero draws a symmetry for
    each position instead; but then the values of neighbouring positions differ by noise, which can mislead a
    short search (docs/go.md).
    """

    def __init__(self, symmetries: Symmetries, seed: int = 0) -> None:
        """Take the symmetries of a game.

        Args:
            symmetries: those of the game.
            seed: seed of the random choices.
        """
        self.symmetries = symmetries
        self._start = mix(np.array([seed], np.uint64) + GOLDEN)

    def drawn(self, games: NDArray[np.int64]) -> Indices:
        """Return the number of the symmetry of each of these games, given by their numbers."""
        mixed: NDArray[np.uint64] = mix(self._start + games.astype(np.uint64) * GOLDEN) >> np.uint64(32)
        return mixed.astype(np.int64) % len(self.symmetries)

    def turned(self, boards: Boards, which: Indices) -> Boards:
        """Return `[B, position_bytes]` positions, each transformed by a symmetry."""
        return in_order(boards, self.symmetries.squares[which])

    def turn_back(self, logits: Floats, which: Indices) -> None:
        """Give the `[B, A]` logits of transformed positions the order of the actions before, in place."""
        logits[:] = np.take_along_axis(logits, self.symmetries.inverse[which], 1)
