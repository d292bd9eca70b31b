"""Settings of training, small and typed: wrong values fail at birth. Needs no torch; help shows defaults."""

import math
from dataclasses import dataclass, field
from typing import Any

from ckai.datasets import POSITIONS


@dataclass(frozen=True, kw_only=True)
class TargetConfig:
    """What the value head learns: (1 - q_weight) * z + q_weight * q, where there is a q; z elsewhere."""

    q_weight: float = 0.5
    """0 = the game's result only, 1 = the search's value only. AlphaZero: 0."""

    def __post_init__(self) -> None:
        if not 0 <= self.q_weight <= 1:
            raise ValueError(f"expected q_weight in [0, 1], found {self.q_weight}")


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """The loss of both heads."""

    value_weight: float = 0.5
    """Of the value's squared error beside the policy's cross-entropy."""
    mask_illegal: bool = False
    """Leave illegal labels out of the cross-entropy: better among legal moves, worse raw scores."""
    label_smoothing: float = 0.0
    """Share of the target that is spread over the legal labels (Szegedy et al. 2016)."""
    target: TargetConfig = field(default_factory=TargetConfig)

    def __post_init__(self) -> None:
        if not self.value_weight >= 0:
            raise ValueError(f"expected value_weight >= 0, found {self.value_weight}")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"expected label_smoothing in [0, 1), found {self.label_smoothing}")


SCHEDULES = ("one-cycle", "constant", "decay")
OPTIMIZERS = ("adamw", "momentum")
PRECISIONS = ("auto", "32", "bf16")


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """How weights step, and the learning rate over the training."""

    name: str = "adamw"
    """Or "momentum": stochastic gradient descent with momentum, as the seed article has it."""
    lr: float = 2e-3
    """At the peak."""
    weight_decay: float = 0.2
    momentum: float = 0.9
    """Of the optimizer "momentum"."""
    warmup: float = 0.15
    """Share of the steps before the peak."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 does not clip."""
    schedule: str = "one-cycle"
    """After the warm-up: half a cosine to nearly nothing, "constant", or "decay", `decay` times less an
    epoch."""
    decay: float = 0.95
    """Of the schedule "decay"; the article's."""

    def __post_init__(self) -> None:
        for name in ("lr", "weight_decay", "clip"):
            if not getattr(self, name) >= (0 if name != "lr" else 1e-12):
                raise ValueError(
                    f"expected {name} {'> 0' if name == 'lr' else '>= 0'}, found {getattr(self, name)}"
                )
        for name in ("warmup", "decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"expected {name} in [0, 1], found {getattr(self, name)}")
        if not 0 <= self.momentum < 1:
            raise ValueError(f"expected momentum in [0, 1), found {self.momentum}")
        for name, known in (("schedule", SCHEDULES), ("name", OPTIMIZERS)):
            if getattr(self, name) not in known:
                what = "optimizer" if name == "name" else name
                raise ValueError(f"expected {what} {' or '.join(known)}, found {getattr(self, name)!r}")

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


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """One training: how long, in what order, and with which losses and steps."""

    epochs: int = 8
    batch_size: int = 256
    patience: int = 3
    """Stop after so many epochs without a lower held-out policy loss; 0 never stops early."""
    seed: int = 0
    """Of the first weights and the order of rows."""
    precision: str = "auto"
    """"32", "bf16" (weights stay in 32), or "auto": bf16 where the machine has it."""
    ema: float = 0.0
    """Weights are averaged with this decay a step, and the average is what is measured and kept; 0: not."""
    compile: bool = False
    """Let `torch.compile` make the network faster, which takes a minute first and a C++ compiler on a CPU."""
    overfit: int = 0
    """Train on so many batches only, again and again, and measure on them: a network that cannot is
    broken."""
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("patience", 0), ("overfit", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"expected {name} >= {least}, found {getattr(self, name)}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"expected precision {', '.join(PRECISIONS)}, found {self.precision!r}")
        if not 0 <= self.ema < 1:
            raise ValueError(f"expected ema in [0, 1), found {self.ema}")


@dataclass(frozen=True, kw_only=True)
class PretrainConfig:
    """What `ckai pretrain` does."""

    model: str = "cnn2x2"
    """Architecture, by its name in the registry."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Of the architecture; what is left out has its default."""
    heldout: float = 0.1
    """Share of the games held out for measuring."""
    split_seed: int = 0
    """Which games are held out."""
    positions: str = "all"
    """What of positions that come up again in the training games is kept, see `ckai.datasets.merge`."""
    weights: tuple[float, ...] = ()
    """How often an epoch goes over each data set; empty: once over each."""
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        if not 0 <= self.heldout < 1:
            raise ValueError(f"expected heldout in [0, 1), found {self.heldout}")
        if self.positions not in POSITIONS:
            raise ValueError(f"expected positions {', '.join(POSITIONS)}, found {self.positions!r}")
        if not all(weight > 0 for weight in self.weights):
            raise ValueError(f"expected weights of data sets above 0, found {min(self.weights)}")
