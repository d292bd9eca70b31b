"""Evaluation of a position by the network alone, without a search."""

from collections.abc import Sequence

import numpy as np

from ckai.game import Position
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator, output_arrays
from ckai.models.inputs.packing import pack_positions
from ckai.rl.engine.result import MoveMap, Policy, Turn, Value
from ckai.rl.evaluators.calling import evaluate_into, non_finite_error
from ckai.rl.games.registry import DEFAULT_GAME


def evaluate_policy(evaluator: Evaluator, position: Position) -> Policy:
    """Return the probability of every legal move and the value; see `Engine.policy`.

    Args:
        evaluator: an evaluator of checkers.
        position: a position with a legal move.

    Raises:
        ValueError: the evaluator answered with another shape, or with a number that is not finite.
    """
    moves = position.legal_moves()
    # One call evaluates the position and those within its captures.
    chains = {m.actions[:n] for m in moves for n in range(len(m.actions))}
    prefixes = sorted(chains, key=lambda actions: (len(actions), actions))
    boards = pack_positions([_after(position, actions) for actions in prefixes])
    logits, values = output_arrays(len(boards), DEFAULT_GAME.num_actions, None, None)
    with one_torch_thread():
        evaluate_into(evaluator, boards, logits, values)
    priors: dict[tuple[int, ...], float] = {}
    for actions, row in zip(prefixes, logits, strict=True):
        legal = _after(position, actions).legal_actions()
        if not np.isfinite(row[legal]).all():
            raise non_finite_error(evaluator)
        weights = np.exp(row[legal] - row[legal].max())
        for action, p in zip(legal, weights / weights.sum(), strict=True):
            priors[(*actions, action)] = float(p)
    if not np.isfinite(values).all():
        raise non_finite_error(evaluator)
    whole = {m: float(np.prod([priors[m.actions[: n + 1]] for n in range(len(m.actions))])) for m in moves}
    return Policy(
        MoveMap({m: whole[m] for m in sorted(moves, key=lambda m: (-whole[m], m))}),
        Value(float(np.clip(values[prefixes.index(())], -1, 1)), turn_of(position)),
    )


def turn_of(position: Position) -> Turn:
    """Return the side to move."""
    return "black" if position.black else "white"


def _after(position: Position, actions: Sequence[int]) -> Position:
    for action in actions:
        position = position.push_action(action)
    return position
