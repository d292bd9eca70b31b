"""Loading of evaluators: a checkpoint's network, `uniform` or `rollout`."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ckai.datasets.choices import DEFAULT_GAME_NAME
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
    """Return the evaluator of a checkpoint, or `uniform`, or `rollout`.

    Args:
        source: a checkpoint file, or the word `uniform` or `rollout`.
        backend: `auto`, a GPU if there is one, else PyTorch in float32 on the CPU; `fastest`, the fastest
            correct one in a trial of some seconds; or the name of a backend: `torch` (or `cpu`),
            `torch-bf16`, `openvino`, `openvino-bf16`, `onnx`, `cuda`.
        batch: positions per call in the trial.
        threads: number of threads that call the evaluator at the same time.
        prefer: with `fastest`, the backend to use without a trial if it is available and correct.
        game: name of the game that the network must be for.
        tell: with `fastest`, called with the report of the trial.

    Raises:
        CheckpointError: the file is not a checkpoint, or not one for this game.
        ValueError: there is no such backend, or it is not available on this machine.
    """
    if str(source) == UNIFORM:
        return UniformEvaluator(get_game(game).num_actions)
    if str(source) == ROLLOUT:
        return RolloutEvaluator(game=get_game(game).rules)
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.choose import FASTEST, choose_evaluator, make_evaluator, sample_positions

    network = load_network(source, game)
    if backend != FASTEST:
        evaluator = make_evaluator(network, backend, threads)
        # The first call compiles what encodes positions, and sets the backend up: not within a limit of time.
        evaluator.evaluate(sample_positions(1, network.encode))
        return evaluator
    evaluator, report = choose_evaluator(network, batch=batch, threads=threads, prefer=prefer)
    if tell is not None:
        tell(report)
    return evaluator
