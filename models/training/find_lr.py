"""The learning-rate range test: a short training whose learning rate grows at every step.

L. N. Smith, "Cyclical Learning Rates for Training Neural Networks" (2017). The loss falls, then diverges;
the rate where it fell fastest is a good highest rate for a one-cycle schedule.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.files import save_figure
from ckai.models.inference.devices import lightning_precision, pick_device
from ckai.models.training.config import PretrainConfig
from ckai.models.training.lightning_module import PolicyValueModule
from ckai.models.training.pretrain import network_and_data
from ckai.models.training.trainer import TrainingError

LOWEST, HIGHEST = 1e-5, 1.0
DIVERGED = 3.0
"""The test ends when the smoothed loss is this many times its minimum."""
SMOOTHING = 0.9


@dataclass(frozen=True)
class LrSearch:
    """Result of a range test."""

    lr: list[float]
    loss: list[float]
    """Smoothed loss at each learning rate."""
    suggestion: float


def find_lr(paths: Sequence[Path], config: PretrainConfig, *, steps: int = 200) -> LrSearch:
    """Train a fresh network for some steps with a growing learning rate.

    Args:
        paths: row files.
        config: of the training that needs a learning rate.
        steps: of the test, at most.

    Raises:
        DatasetError: data that cannot be used.
        ModelError: unknown model or settings.
        TrainingError: the loss never fell, or `config.init` is set: a trained network's loss hardly falls.
    """
    if config.init:
        raise TrainingError("expected a new network to find a learning rate for, found --init; omit it")
    network, data = network_and_data(paths, config)
    device = pick_device()
    module = PolicyValueModule(network, replace(config.train, ema=0.0), epoch_steps=steps).to(device)
    bf16 = lightning_precision(config.train.precision, device) == "bf16-mixed"
    optimizer = module.configure_optimizers()["optimizer"]
    rates = np.geomspace(LOWEST, HIGHEST, steps)
    tried: list[float] = []
    losses: list[float] = []
    average, least = 0.0, np.inf
    for step, batch in zip(range(steps), _endless(data), strict=False):
        for group in optimizer.param_groups:
            group["lr"] = float(rates[step])
        ready = {k: v.to(module.device) for k, v in module.on_before_batch_transfer(batch, 0).items()}
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            loss = module.training_step(ready, step)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        module.on_before_optimizer_step(optimizer)
        optimizer.step()
        average = SMOOTHING * average + (1 - SMOOTHING) * float(loss.detach())
        smooth = average / (1 - SMOOTHING ** (step + 1))
        least = min(least, smooth)
        if not np.isfinite(smooth) or smooth > DIVERGED * least:
            break
        tried.append(float(rates[step]))
        losses.append(smooth)
    return LrSearch(tried, losses, _steepest(tried, losses))


def plot_search(path: Path, result: LrSearch) -> None:
    """Plot the loss over the learning rates as a PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    axes.semilogx(result.lr, result.loss)
    axes.axvline(result.suggestion, linestyle="--", color="grey", label=f"suggested: {result.suggestion:.2g}")
    axes.set_xlabel("learning rate")
    axes.set_ylabel("loss, smoothed")
    axes.grid(alpha=0.3)
    axes.legend()
    save_figure(path, figure, 110)


def _steepest(rates: list[float], losses: list[float]) -> float:
    """The learning rate of steepest descent (over its logarithm), before the minimum of the loss."""
    end = int(np.argmin(losses)) + 1 if losses else 0
    if end < 10:
        raise TrainingError("the loss did not fall at any learning rate: check the data with `ckai stats`")
    slope = np.gradient(np.array(losses[:end]), np.log(rates[:end]))
    return rates[int(np.argmin(slope))]


def _endless(data: RowsDataModule):  # type: ignore[no-untyped-def]
    epoch = 0
    while True:
        yield from data.epoch(epoch)
        epoch += 1
