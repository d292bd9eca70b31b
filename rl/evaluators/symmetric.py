"""An evaluator that sees every position turned or mirrored at random."""

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.splitmix import mix
from ckai.datasets.symmetries import Symmetries, in_order
from ckai.models.inference.evaluator import Boards, Evaluator, Floats, output_arrays


class SymmetricEvaluator:
    """Evaluates each position after a random symmetry of the board, as AlphaGo Zero does.

    Over a search the errors that a network makes in one orientation average out. The symmetry depends on the
    position and the seed alone, so that a batch has no influence on its positions.
    """

    def __init__(self, inner: Evaluator, symmetries: Symmetries, seed: int = 0) -> None:
        """Wrap an evaluator.

        Args:
            inner: evaluates the transformed positions.
            symmetries: those of the game.
            seed: seed of the random choices.
        """
        self.inner, self.symmetries = inner, symmetries
        self.name = f"{inner.name}, turned at random"
        odd = np.random.default_rng(seed).integers(0, 2**63, symmetries.squares.shape[1], np.uint64)
        self._weights = odd * np.uint64(2) + np.uint64(1)

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`."""
        table = self.symmetries
        which = self.drawn(boards)
        logits, values = self.inner.evaluate(in_order(boards, table.squares[which]))
        actions = table.actions.shape[1]
        out_logits, out_values = output_arrays(len(boards), actions, out_logits, out_values)
        np.copyto(out_logits, np.take_along_axis(logits[:, :actions], table.inverse[which], 1))
        np.copyto(out_values, values)
        return out_logits, out_values

    def drawn(self, boards: Boards) -> NDArray[np.int64]:
        """Return the number of the symmetry for each of `[N, position_bytes]` positions."""
        squares = boards[:, : len(self._weights)].view(np.uint8)
        sums = (squares * self._weights).sum(1, dtype=np.uint64)
        numbers: NDArray[np.uint64] = mix(sums) >> np.uint64(32)
        return numbers.astype(np.int64) % len(self.symmetries)

    def close(self) -> None:
        """Close the inner evaluator."""
        self.inner.close()
