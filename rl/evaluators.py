"""Which network judges positions for a search."""

from pathlib import Path

import numpy as np

from ckai.models.inference import POSITION_BYTES, Boards, Evaluator, Floats

UNIFORM = "uniform"
"""The name of the evaluator that knows nothing."""


class UniformEvaluator:
    """Knows nothing: every label scores the same, every position is worth 0."""

    name = UNIFORM

    def evaluate(
        self, boards: Boards, out_logits: Floats | None = None, out_values: Floats | None = None
    ) -> tuple[Floats, Floats]:
        """See `ckai.models.inference.Evaluator.evaluate`."""
        logits = np.empty((len(boards), 128), np.float32) if out_logits is None else out_logits
        values = np.empty(len(boards), np.float32) if out_values is None else out_values
        logits[:] = 0.0
        values[:] = 0.0
        return logits, values

    def close(self) -> None:
        """Nothing to give back."""


def load_evaluator(source: str | Path, backend: str = "auto") -> Evaluator:
    """The evaluator of a checkpoint, or `uniform`.

    Args:
        source: a checkpoint file, or the word `uniform`.
        backend: `auto` (a GPU if there is one, else the CPU), `cpu` or `cuda`.

    Raises:
        CheckpointError: the file is no checkpoint that fits.
        ValueError: no such backend, or not on this machine.
    """
    if str(source) == UNIFORM:
        return UniformEvaluator()
    import torch

    from ckai.models.checkpoint import load_network
    from ckai.models.inference import TorchEvaluator

    if backend not in ("auto", "cpu", "cuda"):
        raise ValueError(f"expected evaluator auto, cpu or cuda, found {backend!r}")
    if backend == "cuda" and not torch.cuda.is_available():
        raise ValueError("evaluator cuda: PyTorch finds no GPU here; use auto or cpu")
    device = "cuda" if backend == "cuda" or (backend == "auto" and torch.cuda.is_available()) else "cpu"
    return TorchEvaluator(load_network(source), device=device)


__all__ = ["POSITION_BYTES", "UNIFORM", "Evaluator", "UniformEvaluator", "load_evaluator"]
