"""Which network judges positions for a search."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ckai.models.inference import POSITION_BYTES, Boards, Evaluator, Floats, give_arrays

if TYPE_CHECKING:
    from ckai.models.choose import Report

UNIFORM = "uniform"
"""The name of the evaluator that knows nothing."""
ROLLOUT = "rollout"
"""The name of the evaluator that plays at random."""


class UniformEvaluator:
    """Knows nothing: every label scores the same, every position is worth 0."""

    name = UNIFORM

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.Evaluator.evaluate`."""
        logits, values = give_arrays(len(boards), out_logits, out_values)
        logits[:] = 0.0
        values[:] = 0.0
        return logits, values

    def close(self) -> None:
        """Nothing to give back."""


def load_evaluator(
    source: str | Path,
    backend: str = "auto",
    *,
    batch: int = 16,
    threads: int = 1,
    prefer: str | None = None,
    game: str = "checkers",
    tell: "Callable[[Report], None] | None" = None,
) -> Evaluator:
    """The evaluator of a checkpoint, or `uniform`, or `rollout`.

    Args:
        source: a checkpoint file, or the word `uniform` or `rollout`.
        backend: `torch` (or `cpu`), `torch-bf16`, `openvino`, `openvino-bf16`, `onnx`, `cuda`, or `auto`: the
            fastest correct one, by a trial of some seconds.
        batch: positions in one call, for the trial.
        threads: threads that call at once.
        prefer: with `auto`, the backend to take without a trial if it can be had and is correct.
        game: that the network must be for.
        tell: with `auto`, is given what the trial found.

    Raises:
        CheckpointError: the file is no checkpoint that fits.
        ValueError: no such backend, or not on this machine.
    """
    if str(source) == UNIFORM:
        return UniformEvaluator()
    if str(source) == ROLLOUT:
        from ckai.rl.rollouts import RolloutEvaluator

        return RolloutEvaluator()
    from ckai.models.checkpoint import load_network
    from ckai.models.choose import AUTO, choose_evaluator, make_evaluator

    network = load_network(source, game)
    if backend != AUTO:
        return make_evaluator(network, backend, threads)
    evaluator, report = choose_evaluator(network, batch=batch, threads=threads, prefer=prefer)
    if tell is not None:
        tell(report)
    return evaluator


__all__ = ["POSITION_BYTES", "ROLLOUT", "UNIFORM", "Evaluator", "UniformEvaluator", "load_evaluator"]
