"""The losses, and the Lightning module around a plain network."""

from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn import functional

from ckai.models.config import LossConfig, OptimizerConfig, TargetConfig
from ckai.models.metrics import Metrics, unpack_legal
from ckai.models.registry import Network


def policy_loss(logits: Tensor, batch: dict[str, Tensor], *, mask_illegal: bool = False) -> Tensor:
    """Mean cross-entropy against the label played, or against `policy` where the batch has it.

    Args:
        logits: `[B, 128]`, raw scores.
        batch: see `ckai.datasets.data_module`.
        mask_illegal: only legal labels share the probability. The target gives illegal ones none.
    """
    logits = logits.float()
    if mask_illegal:
        # A large finite score: 0 * log(0) must stay 0 in the target's sum.
        logits = logits.masked_fill(~unpack_legal(batch["legal"]), -1e9)
    return functional.cross_entropy(logits, batch["policy"] if "policy" in batch else batch["label"])


def value_target(batch: dict[str, Tensor], target: TargetConfig) -> Tensor:
    """`[B]` float32 in [-1, 1], for the mover: (1 - w) z + w q where there is a q, else z."""
    if "q" not in batch:
        return batch["z"]
    return (1 - target.q_weight) * batch["z"] + target.q_weight * batch["q"]


def value_loss(value: Tensor, batch: dict[str, Tensor], target: TargetConfig) -> Tensor:
    """Mean squared error of the value over the rows with a known result; 0 if there are none.

    Args:
        value: `[B]` in [-1, 1], for the mover.
        batch: see `ckai.datasets.data_module`.
        target: the blend.
    """
    known = batch["z_known"].float()
    error = (value.float() - value_target(batch, target)) ** 2
    return (error * known).sum() / known.sum().clamp(min=1)


class PolicyValueModule(pl.LightningModule):
    """Trains a `Network`. Nothing is logged a step: sums stay on the device and are read once an epoch.

    Attributes:
        network: the plain module.
        sums: `[5]` float64: rows, policy loss, value loss, right moves (each weighted by rows), steps.
    """

    def __init__(self, network: Network, *, loss: LossConfig, optimizer: OptimizerConfig, steps: int) -> None:
        """Wrap a network.

        Args:
            network: trained in place.
            loss: how it is judged.
            optimizer: how it steps.
            steps: of the whole training; the schedule ends there.
        """
        super().__init__()
        self.network = network
        self.loss, self.optimizer_config, self.steps = loss, optimizer, steps
        self.resumed: dict[str, Any] | None = None
        """States of optimizer and schedule to go on from."""
        self.register_buffer("sums", torch.zeros(5, dtype=torch.float64), persistent=False)
        self.sums: Tensor
        self.heldout = Metrics()

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        """The loss of a batch."""
        logits, value = self.network(batch["board"], batch["jumper"], batch["quiet"])
        policy = policy_loss(logits, batch, mask_illegal=self.loss.mask_illegal)
        error = value_loss(value, batch, self.loss.target)
        with torch.no_grad():
            rows = len(batch["label"])
            right = (logits.argmax(1) == batch["label"]).sum()
            one = torch.ones((), device=policy.device)
            self.sums += torch.stack([one * rows, policy * rows, error * rows, right.float(), one]).double()
        return policy + self.loss.value_weight * error

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """Add a held-out batch to `heldout`."""
        logits, value = self.network(batch["board"], batch["jumper"], batch["quiet"])
        self.heldout.update(logits, value, batch)

    def on_validation_epoch_start(self) -> None:
        """Begin a new report."""
        self.heldout = Metrics()

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip here: Lightning refuses to clip for fused optimizers, for the sake of fp16, not used here."""
        if self.optimizer_config.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.optimizer_config.clip)

    def configure_optimizers(self) -> Any:
        """AdamW, no decay on biases and norms, and the schedule; both go on from `resumed`."""
        config = self.optimizer_config
        weights = [p for p in self.network.parameters() if p.ndim > 1]
        others = [p for p in self.network.parameters() if p.ndim <= 1]
        groups = [
            {"params": weights, "weight_decay": config.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=config.lr, fused=True)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: config.factor(step, self.steps))
        if self.resumed:
            optimizer.load_state_dict(self.resumed["optimizer"])
            schedule.load_state_dict(self.resumed["schedule"])
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def training_report(self) -> dict[str, float]:
        """Means over the rows of the epoch so far; reads from the device."""
        rows, policy, error, right, _ = self.sums.tolist()
        n = max(rows, 1)
        return {"train_policy_loss": policy / n, "train_value_loss": error / n, "train_top1": right / n}
