"""The rollout evaluator: values from random playouts."""

from typing import Any

import numpy as np

from ckai.game.jit import kernel
from ckai.models.inference.evaluator import Boards, Floats, output_arrays
from ckai.rl.games import contract
from ckai.rl.games.playouts import playout
from ckai.rl.games.registry import DEFAULT_GAME

ROLLOUT = "rollout"
"""The name of the rollout evaluator."""


@kernel
def evaluate_boards(game, boards, seed, count, values):
    """Fill `values` with the mean result of `count` playouts from each position, for the side to move.

    The random stream of a position depends on its encoding and the seed alone, not on the rest of the batch.

    Args:
        game: the rules.
        boards: `[B, POSITION_BYTES]` int8.
        seed: uint64.
        count: playouts per position, 1 or more.
        values: `[B]` float32, filled.
    """
    trace = np.empty(0, np.uint8)
    for row in range(len(boards)):
        stream = np.uint64(seed)
        for i in range(boards.shape[1]):
            stream = (stream ^ np.uint64(np.uint8(boards[row, i]))) * np.uint64(0x100000001B3)
        state = contract.decode(game, boards[row])
        total = 0.0
        for _ in range(count):
            value, stream, _, _ = playout(game, state, stream, trace)
            total += value
        values[row] = total / count


class RolloutEvaluator:
    """Evaluates a position by random playouts; all logits are 0.

    Can be used wherever a network can. An `InlineSearcher` is faster and plays as well.
    """

    name = ROLLOUT

    def __init__(self, *, playouts: int = 1, seed: int = 0, game: Any = None) -> None:
        """Create a rollout evaluator.

        Args:
            playouts: playouts per position, 1 or more; the value is their mean result.
            seed: seed of the playouts.
            game: the rules; None: checkers.
        """
        self.playouts = playouts
        self.seed = np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        self.game = DEFAULT_GAME.rules if game is None else game

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`."""
        logits, values = output_arrays(len(boards), int(self.game.NUM_ACTIONS), out_logits, out_values)
        logits[:] = 0.0
        evaluate_boards(self.game, boards, self.seed, self.playouts, values)
        return logits, values

    def close(self) -> None:
        """Do nothing: there are no resources to free."""
