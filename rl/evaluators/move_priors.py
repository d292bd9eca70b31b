"""The policy of whole moves by the network alone: of a capture of several hops, the product over the hops."""

from typing import Any

import numpy as np

from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import one_torch_thread
from ckai.rl.evaluators.calling import evaluate_into, non_finite_error
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


def move_priors(
    evaluator: Evaluator, position: Any, spec: GameSpec = DEFAULT_GAME
) -> tuple[dict[Any, float], float]:
    """Evaluate a position, and those within its captures, in one call.

    Returns the probability of every legal move, in their order, and the value for the side to move, [-1, 1].
    A ValueError says that the evaluator answered with another shape, or with a number that is not finite.
    """
    moves = position.legal_moves()
    at: dict[tuple[int, ...], Any] = {(): position}
    for move in moves:
        for n in range(1, len(move.actions)):
            at[move.actions[:n]] = at[move.actions[: n - 1]].push_action(move.actions[n - 1])
    boards = np.stack([spec.encoded(each) for each in at.values()])
    logits = np.empty((len(boards), spec.num_actions), np.float32)
    values = np.empty(len(boards), np.float32)
    with one_torch_thread():
        evaluate_into(evaluator, boards, logits, values)
    priors = dict.fromkeys(moves, 1.0)
    for actions, row in zip(at, logits, strict=True):
        n = len(actions)
        after = [move for move in moves if move.actions[:n] == actions and len(move.actions) > n]
        legal = sorted({move.actions[n] for move in after})
        if not np.isfinite(row[legal]).all():
            raise non_finite_error(evaluator)
        weights = np.exp(row[legal] - row[legal].max())
        probabilities = dict(zip(legal, weights / weights.sum(), strict=True))
        for move in after:
            priors[move] *= float(probabilities[move.actions[n]])
    if not np.isfinite(values).all():
        raise non_finite_error(evaluator)
    return priors, float(np.clip(values[0], -1, 1))
