"""Calls of an evaluator into given arrays, with a check of the shapes it answers; errors of its answers."""

import numpy as np

from ckai.models.inference.evaluator import Boards, Evaluator, Floats


def evaluate_into(evaluator: Evaluator, boards: Boards, logits: Floats, values: Floats) -> None:
    """Evaluate positions into arrays, also if the evaluator returns its own; ValueError for other shapes."""
    outputs = logits, values
    answer = evaluator.evaluate(boards, *outputs)
    for name, array, out in zip(("logits", "values"), answer, outputs, strict=True):
        if array is not out:
            found = list(np.shape(array))
            if found != list(out.shape):
                raise ValueError(
                    f"evaluator {evaluator.name}: expected {name} {list(out.shape)}, found {found}"
                )
            out[:] = array


def non_finite_error(evaluator: Evaluator) -> ValueError:
    """Return the error to raise for logits or values that are not finite."""
    return ValueError(
        f"evaluator {evaluator.name}: expected finite logits and values, found NaN or infinity; "
        "the network may have diverged in training"
    )
