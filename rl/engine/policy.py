"""Evaluation of a position by the network alone, without a search."""

from typing import Any

from ckai.game import Position
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.result import MoveMap, Policy, Turn, Value
from ckai.rl.evaluators.move_priors import move_priors


def evaluate_policy(evaluator: Evaluator, position: Position) -> Policy:
    """Return the probability of every legal move and the value; see `Engine.policy`.

    Args:
        evaluator: an evaluator of checkers.
        position: a position with a legal move.

    Raises:
        ValueError: the evaluator answered with another shape, or with a number that is not finite.
    """
    priors, value = move_priors(evaluator, position)
    moves = {m: priors[m] for m in sorted(priors, key=lambda m: (-priors[m], m))}
    return Policy(MoveMap(moves), Value(value, turn_of(position)))


def turn_of(position: Any) -> Turn:
    """Return the side to move."""
    return "black" if position.black else "white"
