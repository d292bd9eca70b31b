"""Settings of training, small and typed: wrong values fail at birth. Needs no torch; help shows defaults."""

import math
from dataclasses import dataclass, field
from typing import Any


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
    """How the two heads are judged."""

    value_weight: float = 0.5
    """Of the value's squared error beside the policy's cross-entropy."""
    mask_illegal: bool = False
    """Leave illegal labels out of the cross-entropy: better among legal moves, worse raw scores."""
    target: TargetConfig = field(default_factory=TargetConfig)

    def __post_init__(self) -> None:
        if not self.value_weight >= 0:
            raise ValueError(f"expected value_weight >= 0, found {self.value_weight}")


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """AdamW and its one-cycle schedule: linear warm-up, then half a cosine to nearly nothing."""

    lr: float = 2e-3
    """At the peak."""
    weight_decay: float = 0.2
    warmup: float = 0.15
    """Share of the steps before the peak."""
    clip: float = 1.0
    """Largest norm of the gradient; 0 does not clip."""
    schedule: str = "one-cycle"
    """Or "constant": warm-up, then the peak for good."""

    def __post_init__(self) -> None:
        for name in ("lr", "weight_decay", "clip"):
            if not getattr(self, name) >= (0 if name != "lr" else 1e-12):
                raise ValueError(
                    f"expected {name} {'> 0' if name == 'lr' else '>= 0'}, found {getattr(self, name)}"
                )
        if not 0 <= self.warmup <= 1:
            raise ValueError(f"expected warmup in [0, 1], found {self.warmup}")
        if self.schedule not in ("one-cycle", "constant"):
            raise ValueError(f"expected schedule one-cycle or constant, found {self.schedule!r}")

    def factor(self, step: int, steps: int) -> float:
        """Learning rate of a step (from 0) of `steps`, as a share of the peak."""
        warm = self.warmup * steps
        if step < warm:
            return 0.04 + 0.96 * step / warm
        if self.schedule == "constant":
            return 1.0
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
    """"32", "bf16", or "auto": bf16 on a GPU that has it, 32 elsewhere."""
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("batch_size", 1), ("patience", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"expected {name} >= {least}, found {getattr(self, name)}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"expected precision {', '.join(PRECISIONS)}, found {self.precision!r}")


PRECISIONS = ("auto", "32", "bf16")


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
    train: TrainConfig = field(default_factory=TrainConfig)

    def __post_init__(self) -> None:
        if not 0 <= self.heldout < 1:
            raise ValueError(f"expected heldout in [0, 1), found {self.heldout}")
