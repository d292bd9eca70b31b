"""Settings of training. Needs no torch, so that help shows them quickly."""

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from ckai.datasets.choices import Positions
from ckai.datasets.settings import setting, settings
from ckai.models.networks import shipped


@settings
class TargetConfig:
    """What the value head learns: (1 - q_weight) * z + q_weight * q, where there is a q; z elsewhere."""

    q_weight: float = setting(
        default=0.5,
        ge=0,
        le=1,
        option=None,
        help="Weight of the search's value q in the value target; 0 trains on the game's result z alone, as "
        "AlphaZero does",
    )


@settings
class LossConfig:
    """The loss of both heads."""

    value_weight: float = setting(
        default=0.5, ge=0, help="Weight of the value's squared error beside the policy's cross-entropy"
    )
    mask_illegal: bool = setting(
        default=False,
        help="Leave illegal actions out of the cross-entropy: better among legal moves, worse raw scores",
    )
    label_smoothing: float = setting(
        default=0.0,
        ge=0,
        lt=1,
        help="Share of the policy target spread over the legal actions (Szegedy et al. 2016)",
    )
    target: TargetConfig = setting(default_factory=TargetConfig, help="Value target")


@settings
class OptimizerConfig:
    """How weights step, and the learning rate over the training."""

    name: Literal["adamw", "momentum"] = setting(
        default="adamw",
        option="--optimizer",
        help="Optimizer: AdamW, or stochastic gradient descent with momentum",
    )
    lr: float = setting(default=2e-3, gt=0, help="Peak learning rate")
    schedule: Literal["one-cycle", "constant", "decay"] = setting(
        default="one-cycle",
        help="Learning rate after the warm-up: one-cycle follows half a cosine to nearly 0, decay multiplies "
        "it by --decay every epoch",
    )
    warmup: float = setting(default=0.15, ge=0, le=1, help="Share of the steps spent warming up")
    decay: float = setting(
        default=0.95, ge=0, le=1, help="Factor on the learning rate per epoch, for --schedule decay"
    )
    momentum: float = setting(default=0.9, ge=0, lt=1, help="Momentum, for --optimizer momentum")
    weight_decay: float = setting(default=0.2, ge=0, help="Weight decay, decoupled for AdamW")
    clip: float = setting(default=1.0, ge=0, help="Max gradient norm; 0 disables clipping")

    def factor(self, step: int, steps: int, epoch_steps: int = 1) -> float:
        """Learning rate of a step (from 0) of `steps`, as a share of the peak; an epoch has `epoch_steps`."""
        warm = self.warmup * steps
        if step < warm:
            return 0.04 + 0.96 * step / warm
        if self.schedule == "constant":
            return 1.0
        if self.schedule == "decay":
            return float(self.decay ** (step // max(1, epoch_steps)))
        done = min(1.0, (step - warm) / max(1.0, steps - warm))
        return 0.001 + 0.999 * (1 + math.cos(math.pi * done)) / 2


@settings
class TrainConfig:
    """One training: how long, in what order, and with which losses and steps."""

    epochs: int = setting(
        default=8, ge=1, help="Passes over the rows, for each stage of a network trained in stages"
    )
    batch_size: int = setting(default=256, ge=1, help="Rows per step")
    patience: int = setting(
        default=3,
        ge=0,
        help="Stop after this many epochs without a lower held-out policy loss; 0 never stops early",
    )
    seed: int = setting(default=0, help="Seed of the first weights and of the order of rows")
    precision: Literal["auto", "32", "bf16"] = setting(
        default="auto",
        help="Compute in 32 bits or in bf16 (weights stay in 32); auto uses bf16 where the machine has it",
    )
    ema: float = setting(
        default=0.0,
        ge=0,
        lt=1,
        help="Average the weights with this decay per step, such as 0.999, and keep the average; 0 keeps the "
        "last weights",
    )
    compile: bool = setting(
        default=False,
        help="Speed up the network with torch.compile, which takes a minute first and on a CPU needs a C++ "
        "compiler",
    )
    overfit: int = setting(
        default=0,
        ge=0,
        help="Train and measure on this many batches only, to see that the network can learn; the command "
        "keeps nothing then; 0 uses all",
    )
    loss: LossConfig = setting(default_factory=LossConfig, help="Loss")
    optimizer: OptimizerConfig = setting(default_factory=OptimizerConfig, help="Optimizer")


@settings
class PretrainConfig:
    """What `ckai pretrain` does."""

    model: str = setting(default="cnn2x2", help=f"Network architecture: {', '.join(shipped())}")
    settings: dict[str, Any] = setting(
        default_factory=dict,
        option=None,
        help="Settings of the network, given with --set; what is left out has its default",
    )
    heldout: float = setting(default=0.1, ge=0, lt=1, help="Share of the games held out for measuring")
    split_seed: int = setting(default=0, help="Seed that chooses the games held out")
    positions: Positions = setting(
        default="all",
        help="Rows kept of positions that repeat: all, each move once (distinct), or one row with the shares "
        "of the moves (average)",
    )
    weights: tuple[Annotated[float, Field(gt=0)], ...] = setting(
        default=(),
        option="--data-weight",
        help="Passes over a data set per epoch, one for each --data: 2 is twice, 0.5 half of it",
    )
    train: TrainConfig = setting(default_factory=TrainConfig, help="Training")
