"""The rollout evaluator: values from random playouts."""

from typing import Any

import numpy as np

from ckai.game.jit import kernel
from ckai.models.inference.evaluator import Boards, Floats
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games import contract
from ckai.rl.games.playouts import playout
from ckai.rl.games.registry import DEFAULT_GAME

ROLLOUT = "rollout"
"""The name of the rollout evaluator."""


@kernel
def evaluate_boards(game, boards, values):
    """Fill `values` with the result of a playout from each position, for the side to move.

    The random stream of a position depends on its encoding alone, not on the rest of the batch.

    Args:
        game: the rules.
        boards: `[B, POSITION_BYTES]` int8.
        values: `[B]` float32, filled.
    """
    trace = np.empty(0, np.uint8)
    for row in range(len(boards)):
        stream = np.uint64(0)
        for i in range(boards.shape[1]):
            stream = (stream ^ np.uint64(np.uint8(boards[row, i]))) * np.uint64(0x100000001B3)
        state = contract.decode(game, boards[row])
        values[row], _, _, _ = playout(game, state, stream, trace)


class RolloutEvaluator(UniformEvaluator):
    """Evaluates a position by a random playout; all logits are 0.

    Can be used wherever a network can. Searches play their own playouts, see `InlineSearcher`.

    Args:
        game: the rules; None: checkers.
    """

    name = ROLLOUT

    def __init__(self, *, game: Any = None) -> None:
        self.game = DEFAULT_GAME.rules if game is None else game
        super().__init__(int(self.game.NUM_ACTIONS))

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`."""
        logits, values = super().evaluate(boards, out_logits, out_values)
        evaluate_boards(self.game, boards, values)
        return logits, values
