"""Evaluators: a checkpoint's network, `uniform` or `rollout` by name; their policy of whole moves."""

import os
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.models.inference.evaluator import AUTO, INTEGERS, Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import one_torch_thread
from ckai.models.pretrained import integers_path
from ckai.rl.evaluators.rollout import RolloutEvaluator, UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME, get_game
from ckai.rl.games.spec import GameSpec


def load_evaluator(
    source: str | Path, backend: str = "auto", *, threads: int = 1, game: str = DEFAULT_GAME_NAME
) -> Evaluator:
    """Return the evaluator of a checkpoint, or `uniform`, or `rollout`.

    Args:
        source: a checkpoint file, or the word `uniform` or `rollout`.
        backend: see `make_evaluator`; `$CKAI_EVALUATOR`, if set, takes the place of `auto`.
        threads: number of threads that call the evaluator at the same time.
        game: name of the game that the network must be for.

    Raises:
        CheckpointError: the file is not a checkpoint, or not one for this game.
        ValueError: no such backend here, or outputs that are not finite.
    """
    for kind in (UniformEvaluator, RolloutEvaluator):
        if str(source) == kind.name:
            return kind(get_game(game).num_actions)
    named = os.environ.get("CKAI_EVALUATOR") or AUTO if backend == AUTO else AUTO
    integers = integers_path(source) if game == DEFAULT_GAME_NAME else None
    if integers is not None and named == AUTO and backend in (AUTO, INTEGERS):
        return IntegerEvaluator(np.load(integers))
    from ckai.models.checkpoint import load_network  # PyTorch, which takes seconds to import
    from ckai.models.inference.backends import make_evaluator, sample_positions

    network = load_network(source, game)
    try:
        evaluator = make_evaluator(network, backend if named == AUTO else named, threads)
    except ValueError as error:
        raise type(error)(f"CKAI_EVALUATOR: {error}" if named != AUTO else str(error)) from error
    # The first call compiles what encodes positions and sets the backend up; it also finds a network of NaN.
    boards = sample_positions(1, network.encode)
    evaluator.policy(boards, network.encode.legal_mask(boards))
    return evaluator


def move_priors(
    evaluator: Evaluator, position: Any, spec: GameSpec = DEFAULT_GAME
) -> tuple[dict[Any, float], float]:
    """Evaluate a position, and those within its captures, in one call, without search.

    Returns the probability of every legal move, in their order, of a capture the product over its hops, and
    the value for the side to move, [-1, 1]. A BackendError says that the evaluator answered with a number
    that is not finite.
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
