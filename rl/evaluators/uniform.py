"""The uniform evaluator."""

from ckai.models.inference.evaluator import Boards, Floats, output_arrays
from ckai.rl.games.registry import DEFAULT_GAME

UNIFORM = "uniform"
"""The name of the uniform evaluator."""


class UniformEvaluator:
    """Gives every action the same score and every position the value 0."""

    name = UNIFORM

    def __init__(self, num_actions: int = DEFAULT_GAME.num_actions) -> None:
        """Make one for a game of so many actions."""
        self.num_actions = num_actions

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`."""
        logits, values = output_arrays(len(boards), self.num_actions, out_logits, out_values)
        logits[:] = 0.0
        values[:] = 0.0
        return logits, values

    def close(self) -> None:
        """Nothing to give back."""
