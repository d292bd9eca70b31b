"""How a generation learns: from the games of its window, for as long as the training takes, through kills."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckai.datasets.data_module import RowsDataModule
from ckai.models.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from ckai.models.training.config import LossConfig, OptimizerConfig, TargetConfig, TrainConfig
from ckai.models.training.trainer import take_average, train
from ckai.rl.loop.config import LearnConfig
from ckai.rl.loop.events import Event, ProgressCallback

ENOUGH_GAMES = 100
"""From so many games on, some are held out to see how well others are predicted."""
HELD_OUT = 0.05


@dataclass(frozen=True)
class Window:
    """The generations that a generation learns from, oldest first."""

    generations: tuple[int, ...]
    weights: tuple[float, ...]
    """How often an epoch goes over the rows of each; below 1 a random part."""


def window_of(n: int, settings: LearnConfig) -> Window:
    """The window of generation `n`: its width grows with `window_growth`, and no row is used more often than
    `reuse` times in all, as an expectation."""
    width = int(settings.window + settings.window_growth * (n - 1))
    generations = range(max(1, n - width + 1), n + 1)
    if not settings.reuse:
        return Window(tuple(generations), (1.0,) * len(generations))
    used = {g: settings.epochs * (n - g) for g in generations}
    left = {g: min(1.0, (settings.reuse - used[g]) / settings.epochs) for g in generations}
    kept = [g for g in generations if left[g] > 0]
    return Window(tuple(kept), tuple(left[g] for g in kept))


def learn(
    old: Path,
    window: list[Path],
    weights: tuple[float, ...],
    candidate: Path,
    settings: LearnConfig,
    *,
    generation: int,
    games: int,
    seed: int,
    split_seed: int,
    game: str,
    run: str,
    watch: ProgressCallback,
) -> dict[str, Any]:
    """Train the network of a generation, or go on with it; once it is written there is nothing to do.

    Args:
        old: the network to begin with.
        window: row files.
        weights: see `Window`.
        candidate: the checkpoint to write; where the training is lies beside it until it is done.
        settings: of learning.
        generation: counted from 1.
        games: in the window.
        seed: of the order.
        split_seed: of the games held out.
        game: that they are of.
        run: name of the run, for the checkpoint.
        watch: is told of the progress.

    Returns:
        What was measured.
    """
    saved = candidate.with_name("training.ckpt")

    def set_aside(path: Path, error: CheckpointError) -> None:
        path.replace(path.with_suffix(".damaged"))
        watch(Event(generation, "learn", 0, 1, {"warning": f"{error}; set aside, learning begins anew"}))

    if candidate.exists():
        try:
            done = dict(load_checkpoint(candidate).metrics)
        except CheckpointError as error:
            set_aside(candidate, error)
        else:
            saved.unlink(missing_ok=True)
            return done
    data = RowsDataModule(
        window,
        batch_size=settings.batch_size,
        heldout=HELD_OUT if games >= ENOUGH_GAMES else 0.0,
        split_seed=split_seed,
        seed=seed,
        positions=settings.positions,
        weights=weights,
        surprise=settings.policy_kl_share,
        game=game,
    )
    before = load_checkpoint(old)
    network, state = before.network(), None
    if saved.exists():
        try:
            found = load_checkpoint(saved)
            network, state = found.network(), found.training
        except CheckpointError as error:
            set_aside(saved, error)
    config = TrainConfig(
        epochs=settings.epochs,
        batch_size=settings.batch_size,
        patience=0,
        seed=seed,
        ema=settings.ema,
        loss=LossConfig(
            value_weight=settings.value_weight,
            mask_illegal=settings.mask_illegal,
            target=TargetConfig(q_weight=settings.q_weight_of(generation)),
        ),
        optimizer=OptimizerConfig(lr=settings.lr, weight_decay=settings.weight_decay),
    )
    info = {**before.info, "generation": generation, "run": run}
    final = train(
        network,
        data,
        config,
        state=state,
        save=lambda now: save_checkpoint(saved, network, info=info, training=now),
        save_seconds=10.0,
        progress=lambda p: watch(
            Event(generation, "learn", p.epoch * p.batches + p.batch, p.epochs * p.batches, dict(p.report))
        ),
    )
    take_average(network, final)
    last = {k: float(v) for k, v in final["history"][-1].items()}
    measured = {"rows": data.train_rows, "heldout_rows": data.heldout_rows, **last}
    save_checkpoint(candidate, network, metrics=measured, info=info)
    saved.unlink(missing_ok=True)
    return measured
