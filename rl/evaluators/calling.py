"""Calling an evaluator with arrays of one's own, and refusing what it must not answer."""

import numpy as np

from ckai.models.inference.evaluator import Boards, Evaluator, Floats


def evaluate_into(evaluator: Evaluator, boards: Boards, logits: Floats, values: Floats) -> None:
    """Evaluate positions into arrays; an evaluator may also answer in arrays of its own.

    Args:
        evaluator: any.
        boards: `[B, position_bytes]` int8.
        logits: `[B, NUM_ACTIONS]` float32, filled.
        values: `[B]` float32, filled.

    Raises:
        ValueError: an answer of another shape.
    """
    wanted = logits, values
    answer = evaluator.evaluate(boards, *wanted)
    for name, given, out in zip(("logits", "values"), answer, wanted, strict=True):
        if given is not out:
            if np.shape(given) != out.shape:
                raise ValueError(
                    f"evaluator {evaluator.name}: expected {name} {list(out.shape)}, found {list(np.shape(given))}"
                )
            out[:] = given


def non_finite_error(evaluator: Evaluator) -> ValueError:
    """Return the error of an answer that a search cannot use."""
    return ValueError(
        f"evaluator {evaluator.name}: expected finite logits and values, found NaN or infinity; "
        "the network may have diverged in training"
    )
