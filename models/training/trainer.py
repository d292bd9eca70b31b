"""The training loop: Lightning's trainer, which can be killed at any moment and resumed.

Lightning runs the steps; the state to resume from is kept here as plain data, so that checkpoints contain
nothing else and no private part of Lightning is used. The order of rows depends on the seed and the epoch,
the learning rate on the step: with weights, optimizer and random states restored, a resumed training is
identical to an uninterrupted one.
"""

import logging
import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.accelerators import CUDAAccelerator
from pytorch_lightning.plugins.environments import LightningEnvironment  # type: ignore[attr-defined]

from ckai.datasets.data_module import RowsDataModule
from ckai.models.inference.devices import lightning_precision, pick_device
from ckai.models.inputs.prepared import PreparedBatches
from ckai.models.layers.network import Network
from ckai.models.training.config import TrainConfig
from ckai.models.training.lightning_module import PolicyValueModule, restoring

State = dict[str, Any]


class TrainingError(RuntimeError):
    """A training that cannot continue, or a saved state that does not belong to it."""


@dataclass(frozen=True)
class TrainingProgress:
    """Progress of a training."""

    epoch: int
    """0-based."""
    epochs: int
    batch: int
    """Batches done in this epoch."""
    batches: int
    rows_per_second: float
    """Since the last report, not counting held-out passes."""
    report: dict[str, float] = field(default_factory=dict)
    """Means over the epoch so far: `train_policy_loss`, `train_value_loss`, `train_top1`."""


def train(
    network: Network,
    data: RowsDataModule,
    config: TrainConfig,
    *,
    state: State | None = None,
    save: Callable[[State], None] | None = None,
    save_seconds: float = 60.0,
    progress: Callable[[TrainingProgress], None] | None = None,
    device: torch.device | None = None,
) -> State:
    """Train a network in place, on the GPU if there is one.

    Args:
        network: the weights to start from; with `state`, the weights saved with it. Ends with the last
            weights, on the CPU; `load_best` replaces them by those of the epoch with the lowest held-out
            policy loss, `load_average` by the moving average (`config.ema`), which `history` measures.
        data: the rows; its batch size and seed are used, not those of `config`.
        config: the settings. For the same weights again, seed PyTorch before the network is built.
        state: resume from this state, passed to `save` or returned by an earlier call.
        save: called with the state at the end of each epoch and every `save_seconds` between steps; save the
            network's weights with it.
        save_seconds: between two calls of `save` within an epoch.
        progress: called a few times a second.
        device: None: the GPU if there is one, else the CPU.

    Returns:
        The last state, plain data and tensors. Keys: `epoch`, `batch`, `step` (done so far), `optimizer`,
        `averaged`, `random`, `sums`, `history` (one dict an epoch), `best_epoch` (0-based),
        `best_weights`, `finished`.

    Raises:
        TrainingError: the loss is not finite.
        StateError: `state` is not of this training, or the rows are of another game.
        KeyboardInterrupt: on Ctrl-C; the last saved state is intact.

    Examples:
        >>> from ckai.datasets import RowsDataModule
        >>> from ckai.models import TrainConfig, build
        >>> data = RowsDataModule(["games.parquet"], batch_size=4, heldout=0.5)
        >>> state = train(build("mlp", {"hidden": 8}), data, TrainConfig(epochs=1))
        >>> sorted(state["history"][0])[:3], state["finished"]
        (['epoch', 'heldout_forced', 'heldout_illegal_probability'], True)
    """
    if data.game != network.encode.GAME:
        raise ValueError(f"expected rows of {network.encode.GAME}, the network's game, found {data.game}")
    device = device or pick_device()
    if network.CHANNELS_LAST:
        network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    module = PolicyValueModule(network, config, epoch_steps=data.steps_per_epoch)
    module.train()  # a loaded network is in evaluation mode, which Lightning keeps
    keeper = _Keeper(module, data, config, state, save, save_seconds, progress)
    if state and keeper.finished:
        return state
    with _quiet():
        trainer = _trainer(
            device,
            lightning_precision(config.precision, device),
            max_epochs=config.epochs - keeper.epoch,
            callbacks=[keeper],
            limit_val_batches=None if data.measures else 0,
        )
        try:
            _fit(trainer, module, data)
        finally:
            module.close()
    network.cpu()
    return keeper.last


def load_average(network: Network, state: State) -> None:
    """Load the moving average of a training (`TrainConfig.ema`) into a network, if it has one."""
    if state["averaged"] is not None:
        prefix = "module."
        network.load_state_dict(
            {k.removeprefix(prefix): v for k, v in state["averaged"].items() if k.startswith(prefix)}
        )


def load_best(network: Network, state: State) -> None:
    """Load the weights of the best epoch of a training into a network."""
    if state["best_weights"] is not None:
        network.load_state_dict(state["best_weights"])


def _trainer(device: torch.device, precision: Any, **settings: Any) -> pl.Trainer:
    """Lightning's trainer without its own files, progress bars and tips."""
    return pl.Trainer(
        accelerator=_Gpu() if device.type == "cuda" else "cpu",
        devices=[device.index or 0] if device.type == "cuda" else 1,
        precision=precision,
        plugins=[LightningEnvironment()],
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        **settings,
    )


class _Gpu(CUDAAccelerator):
    """Lightning's GPU, without freeing unused memory before and after a training.

    Freeing waits for the GPU, and would break a CUDA graph capture by self-play during the training.
    """

    def setup(self, trainer: pl.Trainer) -> None:
        """Free nothing."""

    def teardown(self) -> None:
        """Free nothing."""


def _fit(trainer: pl.Trainer, module: PolicyValueModule, data: RowsDataModule) -> None:
    """Run the trainer; turns the exit that Lightning makes of Ctrl-C back into KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    try:
        batches = PreparedBatches(data.train_dataloader(), module.network.encode)
        trainer.fit(module, batches, data.val_dataloader())
    except SystemExit as error:
        raise KeyboardInterrupt from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
    if trainer.interrupted:  # Lightning 2.4 returns instead
        raise KeyboardInterrupt


class _Keeper(pl.Callback):
    """Counts steps, evaluates, saves and stops; holds the state to resume from."""

    def __init__(
        self,
        module: PolicyValueModule,
        data: RowsDataModule,
        config: TrainConfig,
        state: State | None,
        save: Callable[[State], None] | None,
        save_seconds: float,
        progress: Callable[[TrainingProgress], None] | None,
    ) -> None:
        self.module, self.data, self.config = module, data, config
        self.save, self.save_seconds, self.progress = save, save_seconds, progress
        self.epoch, self.batch, self.step = 0, 0, 0
        self.history: list[dict[str, float]] = []
        self.best_epoch, self.best_loss = -1, math.inf
        self.best_weights: dict[str, torch.Tensor] | None = None
        self.finished = False
        self.seconds = 0.0
        self.last: State = {}
        self._resumed = state
        if state:
            with restoring():
                self._restore(state)
        data.resume_at(self.epoch, self.batch)

    def _restore(self, state: State) -> None:
        """Take over a state; all but the random states, which Lightning uses before it trains."""
        self.epoch, self.batch, self.step = state["epoch"], state["batch"], state["step"]
        self.best_epoch, self.best_loss = state["best_epoch"], float(state["best_loss"])
        self.finished, self.seconds = bool(state["finished"]), float(state["seconds"])
        self.history, self.best_weights = list(state["history"]), state["best_weights"]
        self.module.sums.copy_(state["sums"])
        if self.module.averaged is not None:
            self.module.averaged.load_state_dict(state["averaged"])
        self.module.resumed = {"step": self.step, "optimizer": state["optimizer"]}

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Restore the random states."""
        if self._resumed:
            with restoring():
                torch.set_rng_state(self._resumed["random"]["torch"])
                on_gpus = self._resumed["random"]["cuda"]
                if torch.cuda.is_available() and len(on_gpus) == torch.cuda.device_count():
                    torch.cuda.set_rng_state_all(on_gpus)
        self._started = self._saved = time.monotonic()
        self._shown, self._shown_batch = self._started, self.batch
        self._show(self._started)

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count the step; report progress and save when due."""
        self.module.finish_step()
        self.batch += 1
        self.step += 1
        now = time.monotonic()
        if self.progress and now - self._shown > 0.25:
            self._show(now)
        if self.save and now - self._saved > self.save_seconds and self.batch < self.data.steps_per_epoch:
            self._pause(now)
            self._save(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Record the epoch, keep the best weights, and decide whether to stop."""
        now = time.monotonic()
        self._show(now)
        self._pause(now)
        row: dict[str, float] = {
            "epoch": self.epoch + 1,
            "step": self.step,
            "lr": float(trainer.optimizers[0].param_groups[0]["lr"]),
            "seconds": round(self.seconds, 3),
            **self.module.training_report(),
        }
        if not all(math.isfinite(value) for name, value in row.items() if name.endswith("_loss")):
            raise TrainingError(f"the loss is not finite in epoch {self.epoch + 1}")
        if self.data.measures:
            row |= self.module.heldout_report()
            losses = [value for name, value in row.items() if name.startswith("heldout_") and "loss" in name]
            if not all(map(math.isfinite, [*losses, row.get("heldout_value_mse", 0.0)])):
                raise TrainingError(f"the loss on held-out games is not finite in epoch {self.epoch + 1}")
        self.history.append(row)
        masked = "_legal" if self.config.loss.mask_illegal else ""
        loss = row.get(f"heldout_policy_loss{masked}", -math.inf)
        if loss < self.best_loss or not self.data.measures:
            self.best_loss, self.best_epoch = loss, self.epoch
            self.best_weights = _plain(self.module.eval_network.state_dict())
        self.module.sums.zero_()
        self.epoch, self.batch = self.epoch + 1, 0
        stale = self.epoch - 1 - self.best_epoch
        stop = bool(self.config.patience and stale >= self.config.patience)
        self.finished = stop or self.epoch >= self.config.epochs
        trainer.should_stop = stop
        self._save(trainer)
        self._shown, self._shown_batch = time.monotonic(), 0

    def _pause(self, now: float) -> None:
        self.seconds += now - self._started

    def _save(self, trainer: pl.Trainer) -> None:
        averaged = self.module.averaged
        self.last = {
            "epoch": self.epoch,
            "batch": self.batch,
            "step": self.step,
            "finished": self.finished,
            "seconds": self.seconds,
            "history": [dict(row) for row in self.history],
            "best_epoch": self.best_epoch,
            "best_loss": self.best_loss,
            "best_weights": self.best_weights,
            "averaged": None if averaged is None else _plain(averaged.state_dict()),
            "sums": self.module.sums.detach().cpu().clone(),
            "optimizer": trainer.optimizers[0].state_dict(),
            "random": {
                "torch": torch.get_rng_state(),
                "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            },
        }
        if self.save:
            self.save(self.last)
        self._started = self._saved = time.monotonic()

    def _show(self, now: float) -> None:
        if not self.progress:
            return
        rows = (self.batch - self._shown_batch) * self.data.batch_size
        speed = rows / (now - self._shown) if now > self._shown else 0.0
        self._shown, self._shown_batch = now, self.batch
        where = TrainingProgress(
            self.epoch,
            self.config.epochs,
            self.batch,
            self.data.steps_per_epoch,
            speed,
            self.module.training_report(),
        )
        self.progress(where)


def _plain(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A copy on the CPU."""
    return {name: t.detach().cpu().clone() for name, t in weights.items()}


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Lightning's banners, tips and advice on workers."""
    names = ("pytorch_lightning", "lightning", "lightning.pytorch", "lightning.fabric", "lightning_fabric")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            for module in (r"pytorch_lightning\..*", r"lightning_fabric\..*", r"lightning\..*"):
                warnings.filterwarnings("ignore", module=module)
            warnings.filterwarnings("ignore", message=".*isinstance.treespec, LeafSpec.*")
            # From the first backward pass on a GPU, in a thread of its own; PyTorch sets the context itself.
            warnings.filterwarnings("ignore", message="Attempting to run cuBLAS")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
