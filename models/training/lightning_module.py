"""The losses, and the LightningModule that trains a network."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytorch_lightning as pl
import torch
from torch import Tensor
from torch.nn import functional

from ckai.datasets.files import first_line
from ckai.models.evaluation.metrics import Metrics, unpack_legal
from ckai.models.inputs.prepared import with_extra
from ckai.models.layers.heads import value_of
from ckai.models.layers.network import Network
from ckai.models.training.averaging import MovingAverage
from ckai.models.training.config import TargetConfig, TrainConfig
from ckai.models.training.graphs import GraphedPasses


def has_policy_target(batch: dict[str, Tensor], *, mask_illegal: bool = False) -> Tensor:
    """`[B]` bool: whether there are shares of visits, or an action of experts, to learn the policy from.

    With `mask_illegal`, rows with one legal action have nothing to learn.
    """
    found = torch.ones_like(batch["label"], dtype=torch.bool)
    if "policy" in batch:
        found = batch["policy"].any(1)
    return found & (unpack_legal(batch["legal"]).sum(1) > 1) if mask_illegal else found


def policy_loss(logits: Tensor, batch: dict[str, Tensor], *, mask_illegal: bool = False) -> Tensor:
    """Mean cross-entropy with the action played, or with `policy` if the batch has it; in nats.

    The mean is over the rows with a target (`has_policy_target`); 0 if there are none.

    Args:
        logits: `[B, M]`; games with fewer than 128 actions use the first M.
        batch: see `ckai.datasets.data_module`.
        mask_illegal: normalise over the legal actions only.
    """
    logits = logits.float()
    actions = logits.shape[1]
    if mask_illegal:
        # Large and finite, so that 0 * log(0) stays 0 in the target's sum.
        logits = logits.masked_fill(~unpack_legal(batch["legal"])[:, :actions], -1e9)
    target = batch["policy"][:, :actions] if "policy" in batch else batch["label"]
    loss = functional.cross_entropy(logits, target, reduction="none")
    weight = has_policy_target(batch, mask_illegal=mask_illegal).float()
    return (loss * weight).sum() / weight.sum().clamp(min=1)


def value_target(batch: dict[str, Tensor], target: TargetConfig) -> Tensor:
    """The value target, `[B]` float32 in [-1, 1] for the side to move.

    (1 - w) z + w q; z alone without a q, and q alone where only a search's value is known.
    """
    if "q" not in batch:
        return batch["z"]
    blend = (1 - target.q_weight) * batch["z"] + target.q_weight * batch["q"]
    return torch.where(batch["z_known"], blend, batch["q"]) if "q_known" in batch else blend


def has_value_target(batch: dict[str, Tensor]) -> Tensor:
    """`[B]` bool: whether the result or a search's value is known."""
    return batch["z_known"] | batch["q_known"] if "q_known" in batch else batch["z_known"]


def wdl_target(value: Tensor) -> Tensor:
    """Values `[B]` as probabilities `[B, 3]` of win, draw and loss, with as much draw as possible."""
    return torch.stack([value.clamp(min=0), 1 - value.abs(), (-value).clamp(min=0)], 1)


def value_loss(raw: Tensor, batch: dict[str, Tensor], target: TargetConfig) -> Tensor:
    """Mean value loss over the rows with a target (`has_value_target`); 0 if there are none.

    Args:
        raw: raw value outputs; `[B, 1]`: squared error of their tanh, `[B, 3]`: cross-entropy of win, draw
            and loss.
        batch: see `ckai.datasets.data_module`.
        target: how to blend z and q.
    """
    weight = has_value_target(batch).float()
    wanted = value_target(batch, target)
    if raw.shape[1] == 1:
        error = (value_of(raw.float()) - wanted) ** 2
    else:
        error = functional.cross_entropy(raw.float(), wdl_target(wanted), reduction="none")
    return (error * weight).sum() / weight.sum().clamp(min=1)


def planes_of(network: Network, batch: dict[str, Tensor]) -> Tensor:
    """A batch encoded for a network: `[B, PLANES, *SHAPE]` in the dtype of its weights."""
    planes: Tensor = network.encode(
        batch["board"], batch["jumper"], batch["quiet"], network.dtype, batch.get("extra")
    )
    return planes


class StateError(ValueError):
    """The saved state of a training does not fit the training that is to continue it."""


@contextmanager
def restoring() -> Iterator[None]:
    """Turn whatever an odd state makes Python and PyTorch raise in the block into a `StateError`."""
    try:
        yield
    except Exception as error:
        raise StateError(
            f"expected the state of this training, found another ({type(error).__name__}: "
            f"{first_line(error):.200})"
        ) from error


class PolicyValueModule(pl.LightningModule):
    """Trains a `Network`. Nothing is logged per step: sums stay on the device and are read once an epoch.

    Attributes:
        network: the network in training.
        averaged: the moving average of its weights, or None.
        sums: `[6]` float64 over the epoch: rows with a policy target, policy loss times those, rows with a
            value target, value loss times those, correct rows, rows.
        heldout: the metrics of the held-out rows.
        heldout_sums: `[4]` float64, the first four over the held-out rows.
    """

    def __init__(self, network: Network, config: TrainConfig, *, epoch_steps: int) -> None:
        """Wrap a network.

        Args:
            network: trained in place.
            config: losses and optimizer.
            epoch_steps: steps in an epoch; the schedule ends with the last epoch.
        """
        super().__init__()
        self.network, self.config, self.epoch_steps = network, config, epoch_steps
        self.averaged: MovingAverage | None = None
        if config.ema:
            self.averaged = MovingAverage(network, config.ema)
        self.outputs = GraphedPasses(network)
        self.resumed: dict[str, Any] | None = None
        """What to resume from: `step`, and the state of the `optimizer`."""
        self.register_buffer("sums", torch.zeros(6, dtype=torch.float64), persistent=False)
        self.sums: Tensor
        self.heldout = Metrics()
        self.register_buffer("heldout_sums", torch.zeros(4, dtype=torch.float64), persistent=False)
        self.heldout_sums: Tensor

    @property
    def eval_network(self) -> Network:
        """The network that is evaluated and saved: the moving average, or the network in training."""
        if self.averaged is None:
            return self.network
        return cast(Network, self.averaged.module)

    def on_before_batch_transfer(self, batch: dict[str, Tensor], dataloader_idx: int) -> dict[str, Tensor]:
        """Compute the encoding's `extra` while the batch is still on the CPU."""
        return with_extra(batch, self.network.encode)

    def training_step(self, batch: dict[str, Tensor], batch_idx: int) -> Tensor:
        """The loss of a batch."""
        logits, raw = self.outputs(planes_of(self.network, batch))
        policy, error = self._losses(logits, raw, batch)
        loss = policy + self.config.loss.value_weight * error
        with torch.no_grad():
            right = logits.argmax(1) == batch["label"]
            seen = torch.stack([right.sum(), torch.ones_like(right).sum()]).double()
            self.sums += torch.cat([self._weighed(policy, error, batch), seen])
        return loss

    def _weighed(self, policy: Tensor, error: Tensor, batch: dict[str, Tensor]) -> Tensor:
        """What a batch with these mean losses adds to the first four `sums`."""
        policy_rows = has_policy_target(batch, mask_illegal=self.config.loss.mask_illegal).sum()
        value_rows = has_value_target(batch).sum()
        return torch.stack([policy_rows, policy * policy_rows, value_rows, error * value_rows]).double()

    def _losses(self, logits: Tensor, raw: Tensor, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The policy and the value loss of a batch, as trained."""
        loss = self.config.loss
        policy = policy_loss(logits, batch, mask_illegal=loss.mask_illegal)
        return policy, value_loss(raw, batch, loss.target)

    def validation_step(self, batch: dict[str, Tensor], batch_idx: int) -> None:
        """Add a held-out batch to `heldout`, evaluated by `eval_network` in full precision."""
        network = self.eval_network
        with torch.autocast(self.device.type, enabled=False):
            logits, raw = network.forward_planes(planes_of(network, batch))
        self.heldout.update(logits, value_of(raw), batch)
        policy, error = self._losses(logits, raw, batch)
        self.heldout_sums += self._weighed(policy, error, batch)

    def on_validation_epoch_start(self) -> None:
        """Reset the held-out metrics."""
        self.heldout = Metrics()
        self.heldout_sums.zero_()

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip gradients here: Lightning refuses to for fused optimizers, because of fp16 (not used here)."""
        if self.config.optimizer.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.config.optimizer.clip)

    def close(self) -> None:
        """Free the CUDA graphs of the passes."""
        self.outputs.close()

    def _decayed(self) -> tuple[list[torch.nn.Parameter], list[torch.nn.Parameter]]:
        """Return the parameters with weight decay and those without: norms, and biases of any shape."""
        named = list(self.network.named_parameters())
        decays = [p.ndim > 1 and not name.endswith("bias") for name, p in named]
        weights = [p for (_, p), decayed in zip(named, decays, strict=True) if decayed]
        return weights, [p for (_, p), decayed in zip(named, decays, strict=True) if not decayed]

    def finish_step(self) -> None:
        """Clip the weights and update their average after a step.

        Lightning's own hook would run after the callbacks.
        """
        self.network.clip_weights()
        if self.averaged is not None:
            self.averaged.update_parameters(self.network)

    def configure_optimizers(self) -> Any:
        """Optimizer and schedule, restored from `resumed`; biases and norms have no weight decay."""
        config = self.config.optimizer
        weights, others = self._decayed()
        groups = [
            {"params": weights, "weight_decay": config.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        optimizer = torch.optim.AdamW(groups, lr=config.lr, fused=True)
        done = 0
        if self.resumed:
            with restoring():
                done = self.resumed["step"]
                optimizer.load_state_dict(self.resumed["optimizer"])
        steps = self.epoch_steps * self.config.epochs
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: config.factor(step, steps), last_epoch=done - 1
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def training_report(self) -> dict[str, float]:
        """Mean losses and accuracy over the epoch so far; synchronises with the device."""
        shown, policy, known, error, right, rows = self.sums.tolist()
        return {
            "train_policy_loss": policy / max(shown, 1),
            "train_value_loss": error / max(known, 1),
            "train_top1": right / max(rows, 1),
        }

    def heldout_report(self) -> dict[str, float]:
        """The metrics on the held-out rows, and the losses that training minimises on them; synchronises.

        Returns:
            `heldout_NAME` for each metric (`ckai.models.evaluation.metrics`), which compare with the action
            played and the result; `heldout_training_policy_loss` and `heldout_training_value_loss`, the
            same quantities as `train_policy_loss` and `train_value_loss`: with the same targets and mask.
        """
        shown, policy, known, error = self.heldout_sums.tolist()
        report = {f"heldout_{name}": value for name, value in self.heldout.report().items()}
        report["heldout_training_policy_loss"] = policy / max(shown, 1)
        if known:
            report["heldout_training_value_loss"] = error / known
        return report
