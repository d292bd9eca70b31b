"""The uniform evaluator: equal priors and value 0 for every position."""

from ckai.models.inference.evaluator import Boards, Evaluator, Floats
from ckai.rl.games.registry import DEFAULT_GAME

UNIFORM = "uniform"
"""The name of the uniform evaluator."""


class UniformEvaluator(Evaluator):
    """Evaluates every position as logits of 0 and a value of 0."""

    name = UNIFORM

    def __init__(self, num_actions: int = DEFAULT_GAME.num_actions) -> None:
        """Create a uniform evaluator for a game with `num_actions` actions."""
        self.num_actions = num_actions

    def _fill(self, boards: Boards, logits: Floats, values: Floats) -> None:
        logits[:] = values[:] = 0.0
