"""The policy of whole moves by the network alone: of a capture of several hops, the product over the hops."""

from collections.abc import Sequence

import numpy as np

from ckai.game import Move, Position
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator, output_arrays
from ckai.models.inputs.packing import pack_positions
from ckai.rl.evaluators.calling import evaluate_into, non_finite_error
from ckai.rl.games.registry import DEFAULT_GAME


def move_priors(evaluator: Evaluator, position: Position) -> tuple[dict[Move, float], float]:
    """Evaluate a position, and those within its captures, in one call.

    Args:
        evaluator: an evaluator of checkers.
        position: a position with a legal move.

    Returns:
        The probability of every legal move, in their order; and the value for the side to move, [-1, 1].

    Raises:
        ValueError: the evaluator answered with another shape, or with a number that is not finite.
    """
    moves = position.legal_moves()
    chains = {m.actions[:n] for m in moves for n in range(len(m.actions))}
    prefixes = sorted(chains, key=lambda actions: (len(actions), actions))
    boards = pack_positions([_after(position, actions) for actions in prefixes])
    logits, values = output_arrays(len(boards), DEFAULT_GAME.num_actions, None, None)
    with one_torch_thread():
        evaluate_into(evaluator, boards, logits, values)
    hops: dict[tuple[int, ...], float] = {}
    for actions, row in zip(prefixes, logits, strict=True):
        legal = _after(position, actions).legal_actions()
        if not np.isfinite(row[legal]).all():
            raise non_finite_error(evaluator)
        weights = np.exp(row[legal] - row[legal].max())
        for action, p in zip(legal, weights / weights.sum(), strict=True):
            hops[(*actions, action)] = float(p)
    if not np.isfinite(values).all():
        raise non_finite_error(evaluator)
    priors = {m: float(np.prod([hops[m.actions[: n + 1]] for n in range(len(m.actions))])) for m in moves}
    return priors, float(np.clip(values[prefixes.index(())], -1, 1))


def _after(position: Position, actions: Sequence[int]) -> Position:
    for action in actions:
        position = position.push_action(action)
    return position
