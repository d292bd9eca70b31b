"""The evaluator without knowledge."""

from ckai.models.inference.evaluator import Boards, Floats, output_arrays

UNIFORM = "uniform"
"""The name of the evaluator that knows nothing."""


class UniformEvaluator:
    """Knows nothing: every action scores the same, every position is worth 0."""

    name = UNIFORM

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`."""
        logits, values = output_arrays(len(boards), out_logits, out_values)
        logits[:] = 0.0
        values[:] = 0.0
        return logits, values

    def close(self) -> None:
        """Nothing to give back."""
