"""The rollout evaluator: values from random playouts."""

from typing import Any

from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME

ROLLOUT = "rollout"
"""The name of the rollout evaluator."""


class RolloutEvaluator(UniformEvaluator):
    """Stands for random playouts: an `InlineSearcher` plays one from every leaf. Alone it knows no value.

    Args:
        game: the rules; None: checkers.
    """

    name = ROLLOUT

    def __init__(self, *, game: Any = None) -> None:
        super().__init__(int((DEFAULT_GAME.rules if game is None else game).NUM_ACTIONS))
