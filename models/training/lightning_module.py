"""The losses, and the Lightning module around a plain network."""

from collections.abc import Callable
from typing import Any, cast

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from ckai.models.evaluation.metrics import Metrics, unpack_legal
from ckai.models.layers.heads import value_of
from ckai.models.layers.network import Network
from ckai.models.training.config import TargetConfig, TrainConfig


def policy_loss(
    logits: Tensor, batch: dict[str, Tensor], *, mask_illegal: bool = False, smoothing: float = 0.0
) -> Tensor:
    """Mean cross-entropy against the label played, or against `policy` where the batch has it.

    Args:
        logits: `[B, M]`, raw scores of the game's labels, the first of the 128 that rows have room for.
        batch: see `ckai.datasets.data_module`.
        mask_illegal: only legal labels share the probability. The target gives illegal ones none.
        smoothing: share of the target that is spread over the legal labels.
    """
    logits = logits.float()
    labels = logits.shape[1]
    if mask_illegal:
        # A large finite score: 0 * log(0) must stay 0 in the target's sum.
        logits = logits.masked_fill(~unpack_legal(batch["legal"])[:, :labels], -1e9)
    loss = functional.cross_entropy(
        logits, batch["policy"][:, :labels] if "policy" in batch else batch["label"]
    )
    if smoothing:
        legal = unpack_legal(batch["legal"])[:, :labels].float()
        spread = -(functional.log_softmax(logits, 1) * legal).sum(1) / legal.sum(1)
        loss = (1 - smoothing) * loss + smoothing * spread.mean()
    return loss


def value_target(batch: dict[str, Tensor], target: TargetConfig) -> Tensor:
    """`[B]` float32 in [-1, 1], for the mover: (1 - w) z + w q where there is a q, else z."""
    if "q" not in batch:
        return batch["z"]
    return (1 - target.q_weight) * batch["z"] + target.q_weight * batch["q"]


def outcome_shares(value: Tensor) -> Tensor:
    """`[B, 3]` chances of win, draw and loss for values `[B]`: those with the most draws that have the
    value."""
    return torch.stack([value.clamp(min=0), 1 - value.abs(), (-value).clamp(min=0)], 1)


def value_loss(raw: Tensor, batch: dict[str, Tensor], target: TargetConfig) -> Tensor:
    """Mean loss of the value head over the rows with a known result; 0 if there are none.

    Args:
        raw: `[B, 1]`: the squared error of its tanh; or `[B, 3]`: the cross-entropy of win, draw and loss.
        batch: see `ckai.datasets.data_module`.
        target: the blend.
    """
    known = batch["z_known"].float()
    wanted = value_target(batch, target)
    if raw.shape[1] == 1:
        error = (value_of(raw.float()) - wanted) ** 2
    else:
        error = functional.cross_entropy(raw.float(), outcome_shares(wanted), reduction="none")
    return (error * known).sum() / known.sum().clamp(min=1)


def planes_of(network: Network, batch: dict[str, Tensor]) -> Tensor:
    """What a network sees of a batch: `[B, PLANES, 8, 4]` in the type of its weights."""
    planes: Tensor = network.encode(
        batch["board"], batch["jumper"], batch["quiet"], network.dtype, batch.get("extra")
    )
    return planes


def _averaging(decay: float) -> Callable[[Any, Any, Any], None]:
    """An exponential average that forgets faster at first, so that the first weights do not linger."""

    def update(averaged: Any, current: Any, steps: Any) -> None:
        # One call for each type of tensors.
        if averaged[0].is_floating_point():
            now = min(decay, (1 + int(steps)) / (10 + int(steps)))
            get_ema_multi_avg_fn(now)(averaged, current, steps)  # type: ignore[no-untyped-call]
        else:  # counts and constants have no average
            for mean, new in zip(averaged, current, strict=True):
                mean.copy_(new)

    return update


class PolicyValueModule(pl.LightningModule):
    """Trains a `Network`. Nothing is logged a step: sums stay on the device and are read once an epoch.

    Attributes:
        network: the plain module.
        averaged: its weights averaged over the steps, or None.
        sums: `[5]` float64: rows, policy loss, value loss, right moves (each weighted by rows), steps.
    """

    def __init__(self, network: Network, config: TrainConfig, *, epoch_steps: int) -> None:
        """Wrap a network.

        Args:
            network: trained in place.
            config: its losses and its optimizer.
            epoch_steps: steps of an epoch; the schedule ends with the last epoch.
        """
        super().__init__()
        self.network = network
        self.config, self.epoch_steps = config, epoch_steps
        self.averaged: AveragedModel | None = None
        if config.ema:
            self.averaged = AveragedModel(network, multi_avg_fn=_averaging(config.ema), use_buffers=True)
        self.forward_planes = (
            torch.compile(network.forward_planes) if config.compile else network.forward_planes
        )
        self.resumed: dict[str, Any] | None = None
        """States of optimizer and schedule to go on from."""
        self.register_buffer("sums", torch.zeros(5, dtype=torch.float64), persistent=False)
        self.sums: Tensor
        self.heldout = Metrics()

    @property
    def kept(self) -> Network:
        """The network that is measured and kept: the average, or the one that is trained."""
        if self.averaged is None:
            return self.network
        return cast(Network, self.averaged.module)

    def on_before_batch_transfer(self, batch: dict[str, Tensor], dataloader_idx: int) -> dict[str, Tensor]:
        """Compute what the encoding needs while the batch is still on the CPU."""
        extra = self.network.encode.extra(batch["board"], batch["jumper"])
        return batch if extra is None else {**batch, "extra": extra}

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        """The loss of a batch."""
        loss = self.config.loss
        logits, raw = self.forward_planes(planes_of(self.network, batch))
        policy = policy_loss(logits, batch, mask_illegal=loss.mask_illegal, smoothing=loss.label_smoothing)
        error = value_loss(raw, batch, loss.target)
        with torch.no_grad():
            rows = len(batch["label"])
            right = (logits.argmax(1) == batch["label"]).sum()
            one = torch.ones((), device=policy.device)
            self.sums += torch.stack([one * rows, policy * rows, error * rows, right.float(), one]).double()
        return policy + loss.value_weight * error

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """Add a held-out batch to `heldout`, in full precision: what is measured is the network that is
        kept."""
        network = self.kept
        with torch.autocast(self.device.type, enabled=False):
            logits, raw = network.forward_planes(planes_of(network, batch))
        self.heldout.update(logits, value_of(raw), batch)

    def on_validation_epoch_start(self) -> None:
        """Begin a new report."""
        self.heldout = Metrics()

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip here: Lightning refuses to clip for fused optimizers, for the sake of fp16, not used here."""
        if self.config.optimizer.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.optimizer.clip)

    def average(self) -> None:
        """Average the weights in, after a step. Lightning's own hook comes after the callbacks that save."""
        if self.averaged is not None:
            self.averaged.update_parameters(self.network)

    def configure_optimizers(self) -> Any:
        """No decay of weights on biases and norms; optimizer and schedule go on from `resumed`."""
        config = self.config.optimizer
        weights = [p for p in self.network.parameters() if p.ndim > 1]
        others = [p for p in self.network.parameters() if p.ndim <= 1]
        groups = [
            {"params": weights, "weight_decay": config.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        optimizer: torch.optim.Optimizer
        if config.name == "momentum":
            optimizer = torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, fused=True)
        else:
            optimizer = torch.optim.AdamW(groups, lr=config.lr, fused=True)
        steps = self.epoch_steps * self.config.epochs
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: config.factor(step, steps, self.epoch_steps)
        )
        if self.resumed:
            optimizer.load_state_dict(self.resumed["optimizer"])
            schedule.load_state_dict(self.resumed["schedule"])
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def training_report(self) -> dict[str, float]:
        """Means over the rows of the epoch so far; reads from the device."""
        rows, policy, error, right, _ = self.sums.tolist()
        n = max(rows, 1)
        return {"train_policy_loss": policy / n, "train_value_loss": error / n, "train_top1": right / n}
