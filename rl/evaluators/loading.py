"""Loading what evaluates positions for a search."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ckai.datasets.schema import DEFAULT_GAME_NAME
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.rollout import ROLLOUT, RolloutEvaluator
from ckai.rl.evaluators.uniform import UNIFORM, UniformEvaluator
from ckai.rl.games.registry import get_game

if TYPE_CHECKING:
    from ckai.models.inference.choose import Report


def load_evaluator(
    source: str | Path,
    backend: str = "auto",
    *,
    batch: int = 16,
    threads: int = 1,
    prefer: str | None = None,
    game: str = DEFAULT_GAME_NAME,
    tell: "Callable[[Report], None] | None" = None,
) -> Evaluator:
    """The evaluator of a checkpoint, or `uniform`, or `rollout`.

    Args:
        source: a checkpoint file, or the word `uniform` or `rollout`.
        backend: `torch` (or `cpu`), `torch-bf16`, `openvino`, `openvino-bf16`, `onnx`, `cuda`, or `auto`: the
            fastest correct one, by a trial of some seconds.
        batch: positions in one call, for the trial.
        threads: threads that call at once.
        prefer: with `auto`, the backend to take without a trial if it can be had and is correct.
        game: that the network must be for.
        tell: with `auto`, is given what the trial found.

    Raises:
        CheckpointError: the file is no checkpoint that fits.
        ValueError: no such backend, or not on this machine.
    """
    if str(source) == UNIFORM:
        return UniformEvaluator(get_game(game).num_actions)
    if str(source) == ROLLOUT:
        return RolloutEvaluator(game=get_game(game).rules)
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.choose import AUTO, choose_evaluator, make_evaluator

    network = load_network(source, game)
    if backend != AUTO:
        return make_evaluator(network, backend, threads)
    evaluator, report = choose_evaluator(network, batch=batch, threads=threads, prefer=prefer)
    if tell is not None:
        tell(report)
    return evaluator
