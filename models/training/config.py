"""Settings of training. Does not import torch, which would slow down help."""

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from ckai.datasets.settings import setting, settings
from ckai.models.networks import shipped


@settings
class LossConfig:
    """The loss of policy and value."""

    value_weight: float = setting(
        default=0.5,
        ge=0,
        help="Weight of the value loss (squared error) relative to the policy loss (cross-entropy)",
    )
    mask_illegal: bool = setting(
        default=False,
        help="Mask illegal actions in the policy loss: better top-1 among legal moves, worse raw top-1",
    )
    q_weight: float = setting(
        default=0.5,
        ge=0,
        le=1,
        help="Weight of the search's value q in the value target, (1 - q_weight) z + q_weight q; 0 trains on "
        "the game's result z alone, as AlphaZero does",
    )


@settings
class OptimizerConfig:
    """AdamW, and the schedule of its learning rate: a warm-up, then half a cosine to nearly 0."""

    lr: float = setting(option="--lr", default=2e-3, gt=0, help="Peak learning rate")
    warmup: float = setting(default=0.15, ge=0, le=1, help="Share of the steps used for warm-up")
    weight_decay: float = setting(default=0.2, ge=0, help="Decoupled weight decay")
    clip: float = setting(default=1.0, ge=0, help="Max gradient norm; 0 disables clipping")

    def factor(self, step: int, steps: int) -> float:
        """The learning rate of a step, counted from 0, of so many, as a share of the peak."""
        warm = int(self.warmup * steps)  # whole steps: few steps have none
        if step < warm:
            return 0.04 + 0.96 * step / warm
        done = min(1.0, (step - warm) / max(1.0, steps - warm))
        return 0.001 + 0.999 * (1 + math.cos(math.pi * done)) / 2


@settings
class TrainConfig:
    """One training: its length, order, loss and optimizer."""

    epochs: int = setting(option="--epochs", default=8, ge=1, help="Passes over the rows")
    batch_size: int = setting(option="--batch-size", default=256, ge=1, help="Rows per step")
    patience: int = setting(
        default=3,
        ge=0,
        help="Stop after this many epochs without a lower held-out policy loss; 0 never stops early",
    )
    seed: int = setting(option="--seed", default=0, help="Seed of the initial weights and the order of rows")
    precision: Literal["auto", "32", "bf16"] = setting(
        default="auto",
        help="Precision of the computation, 32 bits or bf16 (weights stay in 32 bits); auto uses bf16 if the "
        "hardware supports it",
    )
    ema: float = setting(
        default=0.0,
        ge=0,
        lt=1,
        help="Save an exponential moving average of the weights, with this decay per step, such as 0.999; 0 "
        "saves the last weights",
    )
    loss: LossConfig = setting(default_factory=LossConfig, help="Loss")
    optimizer: OptimizerConfig = setting(default_factory=OptimizerConfig, help="Optimizer")


@settings
class PretrainConfig:
    """Settings of `ckai pretrain`."""

    model: str = setting(
        option="--model", default="cnn2x2", help=f"Network architecture: {', '.join(shipped())}"
    )
    init: str = setting(
        option="--init",
        default="",
        help="Start from the weights of this checkpoint, or installed network, with its architecture",
    )
    settings: dict[str, Any] = setting(
        default_factory=dict,
        help="Settings of the network, given with --set; others have their defaults",
    )
    heldout: float = setting(default=0.1, ge=0, lt=1, help="Share of the games held out for evaluation")
    split_seed: int = setting(default=0, help="Seed that selects the held-out games")
    weights: tuple[Annotated[float, Field(gt=0)], ...] = setting(
        default=(),
        option="--data-weight",
        help="Passes over a data set per epoch, one for each --data; 0.5 uses a random half",
    )
    train: TrainConfig = setting(default_factory=TrainConfig, help="Training")


PRESETS: dict[str, dict[str, Any]] = {
    "small": {"settings": {"encoding": "tactics"}},
    "medium": {
        "model": "senet",
        "settings": {"encoding": "tactics"},
        "train.optimizer.lr": 4e-3,
        "train.optimizer.weight_decay": 0.05,
        "train.loss.mask_illegal": True,
        "train.ema": 0.999,
    },
    "large": {
        "model": "senet",
        "settings": {"encoding": "tactics4", "channels": 64, "blocks": 6},
        "train.epochs": 7,
        "train.optimizer.lr": 4e-3,
        "train.optimizer.weight_decay": 0.1,
        "train.loss.mask_illegal": True,
        "train.ema": 0.999,
    },
}

ON_GPU: dict[str, dict[str, Any]] = {
    "small": {"train.batch_size": 1024, "train.epochs": 10, "train.optimizer.lr": 4e-3, "train.ema": 0.996},
    "medium": {"train.batch_size": 512, "train.optimizer.lr": 5.6e-3, "train.ema": 0.998},
    "large": {"train.batch_size": 1024, "train.optimizer.lr": 8e-3, "train.ema": 0.996},
}


def preset_settings(name: str, device: str) -> dict[str, Any]:
    """Return the settings of a preset for a type of devices, such as "cpu"."""
    return PRESETS[name] | (ON_GPU[name] if device == "cuda" else {})
