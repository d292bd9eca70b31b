"""The policy of whole moves by the network alone: of a capture of several hops, the product over the hops."""

from math import prod
from typing import Any

import numpy as np

from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import one_torch_thread
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


def move_priors(
    evaluator: Evaluator, position: Any, spec: GameSpec = DEFAULT_GAME
) -> tuple[dict[Any, float], float]:
    """Evaluate a position, and those within its captures, in one call.

    Returns the probability of every legal move, in their order, and the value for the side to move, [-1, 1].
    A BackendError says that the evaluator answered with a number that is not finite.
    """
    moves = position.legal_moves()
    after: dict[tuple[int, ...], Any] = {(): position}
    for move in moves:
        for n in range(1, len(move.actions)):
            after[move.actions[:n]] = after[move.actions[: n - 1]].push_action(move.actions[n - 1])
    rows = {actions: row for row, actions in enumerate(after)}
    ways = {
        move: [(rows[move.actions[:n]], action) for n, action in enumerate(move.actions)] for move in moves
    }
    legal = np.zeros((len(after), spec.num_actions), np.bool_)
    for way in ways.values():
        for hop in way:
            legal[hop] = True
    with one_torch_thread():
        policy, values = evaluator.policy(np.stack([spec.encoded(each) for each in after.values()]), legal)
    priors = {move: prod(float(policy[hop]) for hop in way) for move, way in ways.items()}
    return priors, float(np.clip(values[0], -1, 1))
