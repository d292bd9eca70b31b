"""Loading of evaluators: a checkpoint's network, `uniform` or `rollout`."""

import os
from pathlib import Path

import numpy as np

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.models.inference.evaluator import AUTO, INTEGERS, Evaluator
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.pretrained import integers_path
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.registry import get_game


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
