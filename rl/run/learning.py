"""The training of a generation on the games of its replay window; resumes after an interruption."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ckai.datasets.data_module import Batch, RowsDataModule, Symmetries
from ckai.models.checkpoint import load_checkpoint, read_plain, save_checkpoint
from ckai.models.evaluation import origin
from ckai.models.training.config import OptimizerConfig, TrainConfig
from ckai.models.training.lightning_module import PolicyValueModule
from ckai.models.training.trainer import TrainingError, fit
from ckai.rl.games.registry import get_game
from ckai.rl.run.config import LearnConfig
from ckai.rl.run.events import EventCallback, RunEvent

HELD_OUT = 0.05
"""Share of the games held out for measuring."""


def learn(
    old: Path,
    window: list[Path],
    candidate: Path,
    settings: LearnConfig,
    *,
    generation: int,
    seed: int,
    game: str,
    run: str,
    on_event: EventCallback,
    transform: Callable[[Batch], Batch] | None = None,
) -> dict[str, Any]:
    """Train the network of a generation, continuing what was interrupted.

    Does nothing if `candidate` exists.

    Args:
        old: checkpoint to start from.
        window: row files.
        candidate: checkpoint to write; `training.ckpt` next to it holds the state during training.
        settings: how to train.
        generation: counted from 1.
        seed: seed of the order of rows. Held-out games are selected as in the training of `old`.
        game: name of the game.
        run: name of the run, stored in the checkpoint.
        on_event: called after every batch.
        transform: see `RowsDataModule`.

    Returns:
        The metrics of the last epoch, and `rows` and `heldout_rows`.

    Raises:
        CheckpointError: a checkpoint, or the state of the interrupted training, cannot be used.
        DatasetError: a file of the window cannot be used.
        TrainingError: the loss is not finite.
    """
    state = candidate.with_name("training.ckpt")
    if candidate.exists():
        state.unlink(missing_ok=True)
        return dict(load_checkpoint(candidate).metrics)
    config = TrainConfig(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        patience=0,
        seed=seed,
        loss=settings.loss_of(generation),
        optimizer=OptimizerConfig(lr=settings.lr, weight_decay=settings.weight_decay),
    )

    before = load_checkpoint(old)

    def rows(heldout: float) -> RowsDataModule:
        return RowsDataModule(
            window,
            batch_size=settings.batch_size,
            heldout=heldout,
            split_seed=before.info.get("split", {}).get("seed", 0),
            seed=seed,
            need_both_sides=False,
            game=game,
            symmetries=Symmetries(get_game(game).symmetries) if settings.symmetries else None,
            transform=transform,
        )

    data = rows(HELD_OUT)
    if not data.train_rows:  # the hash of few games may select all
        data = rows(0.0)
    network = before.network()
    info = {**before.info, **origin(before.info, data), "generation": generation, "run": run}
    try:
        history = fit(
            PolicyValueModule.of(network, config),
            data,
            config,
            state=state,
            saved=read_plain(state) if state.exists() else None,
            save_seconds=10.0,
            progress=lambda p: on_event(
                RunEvent(
                    generation, "learn", p.epoch * p.batches + p.batch, p.epochs * p.batches, dict(p.report)
                )
            ),
        )
    except TrainingError as error:
        state.unlink(missing_ok=True)
        raise TrainingError(f"{error}; a run keeps its settings: begin another with a lower --lr") from error
    last = {k: float(v) for k, v in history[-1].items()}
    measured = {"rows": data.train_rows, "heldout_rows": data.heldout_rows, **last}
    save_checkpoint(candidate, network, metrics=measured, info=info)
    state.unlink(missing_ok=True)
    return measured
