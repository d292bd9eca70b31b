"""ckai's own `Trainer` of Lightning, which can be killed at any moment and resumed.

The state of training is Lightning's file, written at the end of each epoch and every minute: the order of
rows depends on the seed and the epoch, the learning rate on the step, so with the state restored a resumed
training is identical to one without a stop.
"""

import logging
import math
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.accelerators import CUDAAccelerator
from pytorch_lightning.callbacks import Checkpoint, EarlyStopping, ModelCheckpoint, WeightAveraging
from pytorch_lightning.plugins import TorchCheckpointIO
from pytorch_lightning.plugins.environments import LightningEnvironment  # type: ignore[attr-defined]
from torch import Tensor

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.files import first_line, write_whole
from ckai.datasets.machine import keep_freed_memory
from ckai.models.checkpoint import CheckpointError, read_plain
from ckai.models.inference.backends import lightning_precision, pick_device
from ckai.models.training.config import TrainConfig
from ckai.models.training.lightning_module import PolicyValueModule

History = list[dict[str, float]]
"""One dict an epoch: `epoch` from 1, `step`, `lr`, `seconds`, and all that `PolicyValueModule` logs."""


class TrainingError(RuntimeError):
    """Training cannot continue, or a saved state does not belong to it."""


@dataclass(frozen=True)
class TrainingProgress:
    """Progress of training."""

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


def loss_kept(config: TrainConfig) -> str:
    """Name of the held-out loss whose lowest epoch is the best one."""
    return "heldout_policy_loss" + ("_legal" if config.loss.mask_illegal else "")


def fit(
    module: PolicyValueModule,
    data: RowsDataModule,
    config: TrainConfig,
    *,
    state: Path | None = None,
    saved: Any = None,
    best: Path | None = None,
    logger: Any = False,
    save_seconds: float = 60.0,
    progress: Callable[[TrainingProgress], None] = lambda progress: None,
    on_epoch: Callable[[History], None] = lambda history: None,
    device: torch.device | None = None,
) -> History:
    """Train a module, on the GPU if there is one.

    Args:
        module: trained in place; ends on the CPU with the weights of its last or best epoch, averaged
            if `config.ema` is set.
        data: the rows; its batch size and seed are used, not those of `config`.
        config: epochs, patience, precision and moving average; the rest is the module's.
        state: the file of Lightning's checkpoint; None: none is written.
        saved: what was read from `state`, to resume from; None: begin.
        best: keep the weights of the epoch with the lowest held-out policy loss in this file; None: the last.
        logger: Lightning's loggers.
        save_seconds: between two states saved within an epoch.
        progress: called a few times a second.
        on_epoch: called after each epoch, before its state is saved.
        device: None: the GPU if there is one, else the CPU.

    Raises:
        TrainingError: the loss is not finite.
        CheckpointError: `saved` is not of this training.
        KeyboardInterrupt: on Ctrl-C; the last saved state is intact.
    """
    device = device or pick_device()
    keep_freed_memory()
    module.takes_steps = True
    record = _Record(config, data, progress, on_epoch)
    measures: dict[str, Any] = {"monitor": loss_kept(config)} if data.heldout_rows else {}
    early = EarlyStopping(patience=config.patience, check_finite=False, **measures) if measures else None
    callbacks: list[pl.Callback] = [record, *([early] if early and config.patience else [])]
    if logger:
        callbacks.append(pl.callbacks.LearningRateMonitor("epoch"))
    if config.ema:
        callbacks.append(WeightAveraging(device=device, multi_avg_fn=_Decay(config.ema, data)))
    if best:
        choice = measures | {"enable_version_counter": False, "save_on_train_epoch_end": True}
        callbacks.append(ModelCheckpoint(best.parent, best.stem, **choice))
    if state:
        callbacks.append(_Last(state, save_seconds))
    handler, done = signal.getsignal(signal.SIGINT), False
    try:
        if saved is not None:
            record.load_state_dict(saved["callbacks"][record.state_key])
            stale = saved["callbacks"].get(early.state_key, {}).get("wait_count", 0) if early else 0
            done = len(record.history) >= config.epochs or bool(config.patience and stale >= config.patience)
        if not done:
            with _quiet():
                trainer = pl.Trainer(
                    accelerator=_Gpu() if device.type == "cuda" else "cpu",
                    devices=[device.index or 0] if device.type == "cuda" else 1,
                    precision=lightning_precision(config.precision, device),
                    plugins=[LightningEnvironment(), _WholeFiles(saved)],
                    max_epochs=config.epochs,
                    callbacks=callbacks,
                    logger=logger,
                    limit_val_batches=None if measures else 0,
                    num_sanity_val_steps=0,
                    enable_progress_bar=False,
                    enable_model_summary=False,
                )
                path = None if saved is None else state
                trainer.fit(module, datamodule=data, ckpt_path=path, weights_only=True)
        module.network.cpu()
        if best or done:  # else the module has the last weights
            kept = read_plain(best)["state_dict"] if best else saved["state_dict"]
            module.network.load_state_dict({name.removeprefix("network."): kept[name] for name in kept})
    except SystemExit as error:  # what Lightning makes of Ctrl-C
        raise KeyboardInterrupt from error
    except Exception as error:
        if saved is None or record.begun:
            raise
        reason = f"{type(error).__name__}: {first_line(error):.200}"
        raise CheckpointError(
            f"{state}: expected the state of this training, found another ({reason}); delete it to begin the "
            "training again"
        ) from error
    finally:
        module.steps.close()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)
    return record.history


class _Gpu(CUDAAccelerator):
    """Lightning's GPU, without freeing unused memory before and after training.

    Freeing waits for the GPU, and would break a CUDA graph capture by self-play during the training.
    """

    def setup(self, trainer: pl.Trainer) -> None: ...

    def teardown(self) -> None: ...


class _WholeFiles(TorchCheckpointIO):
    """Lightning's files, flushed and renamed: its own way moves them from the folder of temporary files.

    Where that is on another disk, a kill leaves half a file. The file to resume from is not read again.
    """

    def __init__(self, saved: Any) -> None:
        self._saved = saved

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        content = BytesIO()
        torch.save(checkpoint, content)
        write_whole(Path(path), content.getbuffer())

    def load_checkpoint(self, *_: Any, **more: Any) -> Any:
        return self._saved


class _Decay:
    """The formula of the moving average: its decay is lower at first, so that the first weights fade quickly.

    After n steps, or batches of joined steps, it is (1 + n) / (10 + n); counters are copied.
    """

    def __init__(self, decay: float, data: RowsDataModule) -> None:
        self._decay, self._data = decay, data

    @torch.no_grad()
    def __call__(self, means: list[Tensor], news: list[Tensor], steps: Tensor) -> None:
        if means[0].is_floating_point():
            n = int(steps)
            torch._foreach_lerp_(means, news, 1 - min(self._decay**self._data.joined, (1 + n) / (10 + n)))
        else:
            torch._foreach_copy_(means, news)


class _Last(Checkpoint):
    """Saves the state to resume from: at the end of an epoch, when all others have seen it, and by the clock.

    `ModelCheckpoint` does one or the other, and Lightning cannot resume after the last step of an epoch.
    """

    def __init__(self, path: Path, seconds: float) -> None:
        self._path, self._seconds, self._saved = path, seconds, time.monotonic()

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if time.monotonic() - self._saved > self._seconds and not trainer.is_last_batch:
            self._save(trainer)

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._save(trainer)

    def _save(self, trainer: pl.Trainer) -> None:
        trainer.save_checkpoint(self._path)
        self._saved = time.monotonic()


class _Record(pl.Callback):
    """Keeps the history with the state, reports progress, and stops where the loss is not finite."""

    def __init__(
        self,
        config: TrainConfig,
        data: RowsDataModule,
        progress: Callable[[TrainingProgress], None],
        on_epoch: Callable[[History], None],
    ) -> None:
        self._config, self._data = config, data
        self._progress, self._on_epoch = progress, on_epoch
        self.history: History = []
        self.begun = False
        self._seconds = self._started = 0.0  # of earlier processes; when this one began

    def state_dict(self) -> dict[str, Any]:
        return {"history": self.history, "seconds": self._total()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.history = [dict(row) for row in state["history"]]
        self._seconds = float(state["seconds"])

    def _total(self) -> float:
        return self._seconds + (time.monotonic() - self._started if self.begun else 0.0)

    def on_train_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        self.begun, self._started = True, time.monotonic()
        self._shown, self._steps = self._started, 0

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: Any) -> None:
        self._shown, self._steps = time.monotonic(), 0

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        self._steps += 1
        now = time.monotonic()
        if now - self._shown > 0.25 or trainer.is_last_batch:
            speed = self._steps * self._data.batch_size * self._data.joined / max(now - self._shown, 1e-9)
            self._shown, self._steps = now, 0
            of = trainer.current_epoch, self._config.epochs, batch_idx + 1, int(trainer.num_training_batches)
            self._progress(TrainingProgress(*of, speed, pl_module.training_report()))

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        epoch = trainer.current_epoch + 1
        row = {
            "epoch": epoch,
            "step": epoch * math.ceil(self._data.epoch_rows / self._data.batch_size),
            "lr": float(trainer.optimizers[0].param_groups[0]["lr"]),
            "seconds": round(self._total(), 3),
            **pl_module.training_report(),
            **pl_module.report,
        }
        for name, value in row.items():
            if ("loss" in name or "value_mse" in name) and not math.isfinite(value):
                where = " on held-out games" if name.startswith("heldout") else ""
                raise TrainingError(f"the loss{where} is not finite in epoch {epoch}")
        self.history.append(row)
        self._on_epoch(self.history)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence Lightning's banners, tips and advice on workers."""
    loggers = [logging.getLogger(name) for name in ("pytorch_lightning", "lightning_fabric")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"(pytorch_lightning|lightning_fabric)\..*")
            warnings.filterwarnings("ignore", message=".*isinstance.treespec, LeafSpec.*")
            # From the first backward pass on a GPU, in a thread of its own; PyTorch sets the context itself.
            warnings.filterwarnings("ignore", message="Attempting to run cuBLAS")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
