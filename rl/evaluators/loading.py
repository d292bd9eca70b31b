"""Loading of evaluators: a checkpoint's network, `uniform` or `rollout`."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.rollout import ROLLOUT, RolloutEvaluator
from ckai.rl.evaluators.uniform import UNIFORM, UniformEvaluator
from ckai.rl.games.registry import get_game

if TYPE_CHECKING:
    from ckai.models.inference.backends import Report
    from ckai.models.layers.network import Network

SMALL_BATCH = 16
"""Positions per call in the trial for searches of single positions."""


def load_evaluator(
    source: str | Path,
    backend: str = "auto",
    *,
    batch: int = 16,
    threads: int = 1,
    prefer: str | None = None,
    game: str = DEFAULT_GAME_NAME,
    on_report: "Callable[[Report], None] | None" = None,
) -> Evaluator:
    """Return the evaluator of a checkpoint, or `uniform`, or `rollout`.

    Args:
        source: a checkpoint file, or the word `uniform` or `rollout`.
        backend: `auto`, the fastest correct one in batches of `SMALL_BATCH`, tried for some seconds the first
            time and remembered for this machine (`$CKAI_EVALUATOR` takes its place, if set); `fastest`, the
            same for batches of `batch`, tried again; or the name of a backend: `torch` (or `cpu`),
            `torch-bf16`, `openvino`, `openvino-bf16`, `onnx`, `cuda`, `integers`.
        batch: positions per call in the trial of `fastest`.
        threads: number of threads that call the evaluator at the same time.
        prefer: with `fastest`, the backend to use without a trial if it is available and correct.
        game: name of the game that the network must be for.
        on_report: called with the report of a trial.

    Raises:
        CheckpointError: the file is not a checkpoint, or not one for this game.
        ValueError: there is no such backend, or it is not available on this machine; or the network's outputs
            are not finite.
    """
    if str(source) == UNIFORM:
        return UniformEvaluator(get_game(game).num_actions)
    if str(source) == ROLLOUT:
        return RolloutEvaluator(game=get_game(game).rules)
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.backend_cache import remember, remembered
    from ckai.models.inference.backends import (
        AUTO,
        FASTEST,
        backend_without_trial,
        choose_evaluator,
        make_evaluator,
    )
    from ckai.models.inference.evaluator import BackendError

    network = load_network(source, game)
    named = os.environ.get("CKAI_EVALUATOR")
    if backend == AUTO and named and named != AUTO:
        try:
            return load_evaluator(
                source, named, batch=batch, threads=threads, prefer=prefer, game=game, on_report=on_report
            )
        except (BackendError, ValueError) as error:
            raise type(error)(f"CKAI_EVALUATOR: {error}") from error
    if backend == AUTO:
        backend = backend_without_trial(network) or AUTO
    before = remembered(network, threads) if backend == AUTO else None
    if before is not None:
        with suppress(BackendError):  # a package that was removed, say
            return _ready(make_evaluator(network, before, threads), network)
    if backend in (AUTO, FASTEST):
        size = SMALL_BATCH if backend == AUTO else batch
        chosen = prefer if backend == FASTEST else None
        evaluator, report = choose_evaluator(network, batch=size, threads=threads, prefer=chosen)
        if backend == AUTO:
            remember(network, threads, report.chosen)
        if on_report is not None:
            on_report(report)
        return evaluator
    return _ready(make_evaluator(network, backend, threads), network)


def _ready(evaluator: Evaluator, network: "Network") -> Evaluator:
    """Return the evaluator after one call, which compiles what encodes positions and sets the backend up.

    Raises:
        BackendError: an output is NaN or infinite.
    """
    from ckai.models.inference.backends import exact_outputs, sample_positions

    exact_outputs(evaluator, sample_positions(1, network.encode), network.encode)
    return evaluator
