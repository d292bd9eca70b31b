"""The uniform evaluator: equal priors and value 0 for every position."""

from ckai.models.inference.evaluator import Boards, Floats, output_arrays
from ckai.rl.games.registry import DEFAULT_GAME

UNIFORM = "uniform"
"""The name of the uniform evaluator."""


class UniformEvaluator:
    """Evaluates every position as logits of 0 and a value of 0."""

    name = UNIFORM

    def __init__(self, num_actions: int = DEFAULT_GAME.num_actions) -> None:
        """Create a uniform evaluator for a game with `num_actions` actions."""
        self.num_actions = num_actions

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`."""
        logits, values = output_arrays(boards, (boards.shape[1], self.num_actions), out_logits, out_values)
        logits[:] = 0.0
        values[:] = 0.0
        return logits, values

    def close(self) -> None:
        """Do nothing: there are no resources to free."""
