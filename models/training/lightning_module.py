"""The losses, the steps of training, and the LightningModule that trains a network.

A step is hundreds of kernels, each of which Python takes longer to launch than a GPU to run. So on a GPU
several steps are one launch, of a CUDA graph, whose kernels and results are the same.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
import pytorch_lightning as pl
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ckai.datasets.data_module import Batch, RowsDataModule, cut
from ckai.datasets.files import first_line
from ckai.models.evaluation import Metrics, unpack_legal
from ckai.models.inference.cuda_backend import CAPTURING, WARM_UPS, drop_workspaces
from ckai.models.network import Network, build, value_of
from ckai.models.training.config import LossConfig, OptimizerConfig, TrainConfig

_LOG = logging.getLogger("ckai")
Mean: TypeAlias = tuple[Tensor, Tensor]
"""A mean over some rows, 0 if there are none, and their number."""
Loss: TypeAlias = Callable[[Batch], tuple[Tensor, Tensor]]
"""From a batch to its loss, and to numbers that are added up over batches; may not wait for the GPU."""


def policy_loss(logits: Tensor, batch: Batch, *, mask_illegal: bool = False) -> Mean:
    """Mean cross-entropy with the action played, or with `policy` if the batch has it, in nats.

    The mean is over the rows with a target: shares of visits, or an action of experts.

    Args:
        logits: `[B, M]`; games with fewer than 128 actions use the first M.
        batch: see `ckai.datasets.data_module`.
        mask_illegal: normalise over the legal actions only; rows with one have nothing to learn.
    """
    logits = logits.float()
    actions = logits.shape[1]
    target = batch["policy"][:, :actions] if "policy" in batch else batch["label"]
    learns = target.any(1) if "policy" in batch else torch.ones_like(target, dtype=torch.bool)
    if mask_illegal:
        legal = unpack_legal(batch["legal"])
        # Large and finite, so that 0 * log(0) stays 0 in the target's sum.
        logits = logits.masked_fill(~legal[:, :actions], -1e9)
        learns = learns & (legal.sum(1) > 1)
    return _mean(functional.cross_entropy(logits, target, reduction="none"), learns)


def value_target(batch: Batch, q_weight: float) -> Tensor:
    """The value target, `[B]` float32 in [-1, 1] for the side to move.

    (1 - w) z + w q with the weight w; z without a q, and q where only a search's value is known.
    """
    if "q" not in batch:
        return batch["z"]
    blend = (1 - q_weight) * batch["z"] + q_weight * batch["q"]
    return torch.where(batch["z_known"], blend, batch["q"]) if "q_known" in batch else blend


def value_loss(raw: Tensor, batch: Batch, q_weight: float) -> Mean:
    """Mean value loss over the rows with a target: a result, or a search's value.

    Args:
        raw: raw value outputs; `[B, 1]`: squared error of their tanh, `[B, 3]`: cross-entropy of win, draw
            and loss, the target with as much draw as possible.
        batch: see `ckai.datasets.data_module`.
        q_weight: see `value_target`.
    """
    wanted = value_target(batch, q_weight)
    if raw.shape[1] == 1:
        error = (value_of(raw.float()) - wanted) ** 2
    else:
        wdl = torch.stack([wanted.clamp(min=0), 1 - wanted.abs(), (-wanted).clamp(min=0)], 1)
        error = functional.cross_entropy(raw.float(), wdl, reduction="none")
    return _mean(error, batch["z_known"] | batch["q_known"] if "q_known" in batch else batch["z_known"])


def _mean(numbers: Tensor, counted: Tensor) -> Mean:
    rows = counted.sum()
    return (numbers * counted).sum() / rows.clamp(min=1), rows


def outputs_of(network: Network, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits and raw value outputs of a batch."""
    rows = (batch["board"], batch["jumper"], batch["quiet"])
    return network.forward_planes(network.encode(*rows, network.dtype, batch.get("extra")))


class GraphedSteps:
    """Steps of training, on a GPU captured as a graph for each of the first shapes of batches.

    Other shapes take the same steps without a graph. All batches of an epoch but the last have one shape.
    """

    DEVICES = ("cuda",)
    """Types of devices that have graphs."""
    MOST = 2
    """Shapes for which graphs are captured."""

    def __init__(self, network: Network, loss: Loss, clip: float) -> None:
        """Capture nothing yet; `clip` is the largest norm of the gradients, 0: any."""
        self._network, self._loss, self._clip = network, loss, clip
        self._captured: dict[tuple[torch.Size, ...], _Captured | None] = {}

    def __call__(self, batch: Batch, rows: int, optimizer: torch.optim.Optimizer) -> tuple[Tensor, Tensor]:
        """Take a step on every `rows` rows of a batch.

        Returns:
            The loss of the last, and the sum of the numbers of all.
        """
        shape, device = tuple(tensor.shape for tensor in batch.values()), batch["label"].device.type
        autocast, dtype = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
        # What is cast for a step, or within a capture, must not be kept for the next.
        with torch.autocast(device, dtype=dtype, enabled=autocast, cache_enabled=False):
            if device in self.DEVICES and shape not in self._captured and len(self._captured) < self.MOST:
                self._captured[shape] = self._capture(batch, rows, optimizer)
            captured = self._captured.get(shape)
            if captured is None:
                return self._steps(batch, rows, optimizer)
        torch._foreach_copy_(list(captured.batch.values()), list(batch.values()))
        for group, rate in zip(optimizer.param_groups, captured.rates, strict=True):
            rate.fill_(group["lr"])
        captured.graph.replay()
        return captured.results

    def close(self) -> None:
        """Free the graphs, which no other thread may do during a capture."""
        with CAPTURING:
            self._captured.clear()

    def _steps(self, batch: Batch, rows: int, optimizer: torch.optim.Optimizer) -> tuple[Tensor, Tensor]:
        parameters = [each for each in self._network.parameters() if each.requires_grad]
        added = []
        for part in cut(batch, rows):
            loss, numbers = self._loss(part)
            found = torch.autograd.grad(loss, parameters, allow_unused=True)
            for parameter, gradient in zip(parameters, found, strict=True):
                parameter.grad = gradient
            if self._clip:
                nn.utils.clip_grad_norm_(parameters, self._clip)
            optimizer.step()
            self._network.clip_weights()
            added.append(numbers)
        for parameter in parameters:
            parameter.grad = None
        return loss.detach(), torch.stack(added).sum(0)

    def _capture(self, batch: Batch, rows: int, optimizer: torch.optim.Optimizer) -> "_Captured | None":
        """Capture a graph; where that fails, say so and return None."""
        device = batch["label"].device
        stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream(device))
        try:
            with CAPTURING, torch.cuda.stream(stream), _unchanged(self._network, optimizer):
                captured = _Captured(batch, optimizer)
                with captured.rates_of(optimizer):
                    part = next(cut(captured.batch, rows))
                    for _ in range(WARM_UPS):
                        self._steps(part, rows, optimizer)
                    drop_workspaces()
                    with torch.cuda.graph(captured.graph, stream=stream, capture_error_mode="thread_local"):
                        captured.results = self._steps(captured.batch, rows, optimizer)
            return captured
        except RuntimeError as error:
            reason = first_line(error)
            _LOG.warning(
                "training on %s: expected to capture a CUDA graph, found %s; using none", device, reason
            )
            return None
        finally:
            torch.cuda.current_stream(device).wait_stream(stream)


class _Captured:
    """The graph of some steps, and the memory that it reads and writes."""

    results: tuple[Tensor, Tensor]

    def __init__(self, batch: Batch, optimizer: torch.optim.Optimizer) -> None:
        self.graph = torch.cuda.CUDAGraph()
        self.batch = {name: tensor.clone() for name, tensor in batch.items()}
        self.rates = [batch["z"].new_tensor(group["lr"]) for group in optimizer.param_groups]

    @contextmanager
    def rates_of(self, optimizer: torch.optim.Optimizer) -> Iterator[None]:
        """Let the optimizer read its learning rates from memory in a block."""
        before = [(group, group["lr"], group["capturable"]) for group in optimizer.param_groups]
        for (group, _, _), rate in zip(before, self.rates, strict=True):
            group["lr"], group["capturable"] = rate, True
        try:
            yield
        finally:
            for group, rate, capturable in before:
                group["lr"], group["capturable"] = rate, capturable


@contextmanager
def _unchanged(network: Network, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Undo at the end of a block what it does to a network and to its optimizer, which may be new."""
    tensors = [*network.parameters(), *network.buffers()]
    saved = {tensor: tensor.detach().clone() for tensor in (*tensors, *_state(optimizer))}
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor in (*tensors, *_state(optimizer)):
                tensor.copy_(saved[tensor]) if tensor in saved else tensor.zero_()


def _state(optimizer: torch.optim.Optimizer) -> list[Tensor]:
    return [value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value)]


class PolicyValueModule(pl.LightningModule):
    """Trains a network in any `Trainer` of Lightning, with the batches of a `ckai.datasets.RowsDataModule`.

    Logs `loss` every `Trainer(log_every_n_steps=...)` steps; `train_policy_loss`, `train_value_loss` and
    `train_top1` at the end of an epoch, means over it; and on held-out games `heldout_NAME` for each metric
    of `ckai.models.evaluation`, which compare with the action played and the result, as well as
    `heldout_training_policy_loss` and `heldout_training_value_loss`, the quantities of `train_policy_loss`
    and `train_value_loss`. Held-out rows are evaluated in full precision.

    Attributes:
        network: the network in training; `ckai.models.save_checkpoint` writes it for every other command.
        report: the held-out metrics of the last validation.
        takes_steps: set it to let the module take the steps itself on a CPU, too: up to 16 for each of
            Lightning's, whose hooks for gradients are not called. `ckai pretrain` does.

    Examples:
        >>> import pytorch_lightning as pl
        >>> from ckai.datasets import RowsDataModule
        >>> from ckai.models import PolicyValueModule, save_checkpoint
        >>> module = PolicyValueModule("mlp", {"hidden": 8}, lr=4e-3)
        >>> quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
        >>> trainer = pl.Trainer(max_epochs=2, enable_checkpointing=False, accelerator="cpu", **quiet)
        >>> trainer.fit(module, datamodule=RowsDataModule(["games.parquet"], batch_size=4, heldout=0.5))
        >>> 0 <= trainer.callback_metrics["heldout_top1"] <= 1
        tensor(True)
        >>> save_checkpoint("mine.ckpt", module.network)
    """

    JOINED = 16
    """Most steps for each of Lightning's, which takes 1 ms of a CPU and 2 ms of a GPU."""

    def __init__(
        self,
        network: str | Network = "cnn2x2",
        settings: Mapping[str, Any] | None = None,
        *,
        lr: float = OptimizerConfig.lr,
        warmup: float = OptimizerConfig.warmup,
        weight_decay: float = OptimizerConfig.weight_decay,
        clip: float = OptimizerConfig.clip,
        value_weight: float = LossConfig.value_weight,
        mask_illegal: bool = LossConfig.mask_illegal,
        q_weight: float = LossConfig.q_weight,
    ) -> None:
        """Build a network, or take one.

        Args:
            network: name of an architecture, see `ckai.models.names`, or a network, trained in place.
            settings: of an architecture given by its name, see `ckai.models.build`.
            lr, warmup, weight_decay, clip: see `OptimizerConfig`.
            value_weight, mask_illegal, q_weight: see `LossConfig`.

        Raises:
            ValueError: an unknown architecture or setting, or a number out of range.
        """
        super().__init__()
        self.network = build(network, settings) if isinstance(network, str) else network
        self.optimizing = OptimizerConfig(lr=lr, warmup=warmup, weight_decay=weight_decay, clip=clip)
        self.loss = LossConfig(value_weight=value_weight, mask_illegal=mask_illegal, q_weight=q_weight)
        built = {"network": self.network.architecture, "settings": asdict(self.network.settings)}
        self.save_hyperparameters({**built, **asdict(self.optimizing), **asdict(self.loss)})
        self.steps = GraphedSteps(self.network, self._train_on, clip)
        self.takes_steps = False
        self.report: dict[str, float] = {}
        # Sums over the epoch, and over the held-out rows: rows with a policy target, policy loss times these,
        # rows with a value target, value loss times these, correct rows, rows. No buffers, which a moving
        # average of the weights would take for part of the network.
        self._sums = self._heldout_sums = torch.zeros(6, dtype=torch.float64)
        self._heldout = Metrics()
        self._seen: NDArray[np.uint64] | None = None
        self._random: Tensor | None = None
        self._rows = 0

    @classmethod
    def of(cls, network: Network, config: TrainConfig) -> "PolicyValueModule":
        """The module that trains a network with some settings."""
        return cls(network, **asdict(config.optimizer), **asdict(config.loss))

    # --- steps ----------------------------------------------------------------------------------------

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor | None:
        """The loss of a batch; None where the module has taken the steps itself (see `whole_steps`)."""
        if "extra" not in batch:
            extra = self.network.encode.extra(batch["board"], batch["jumper"], batch["quiet"])
            if extra is not None:  # computed on the CPU, which no graph can do
                batch = {**batch, "extra": extra}
        whole = self.whole_steps
        if whole:
            loss, sums = self.steps(batch, self._rows or len(batch["label"]), self.trainer.optimizers[0])
        else:
            loss, sums = self._train_on(batch)
        self._sums += sums
        every = getattr(self._trainer, "log_every_n_steps", 0)
        if every and batch_idx % every == 0:
            self.log("loss", loss, prog_bar=True)
        return None if whole else loss

    @property
    def whole_steps(self) -> bool:
        """Whether the module takes its steps itself: on a GPU, and where `takes_steps` is set.

        Where Lightning accumulates, scales, clips or shares gradients, it takes the steps.
        """
        trainer = self._trainer
        return (
            trainer is not None
            and (self.takes_steps or trainer.strategy.root_device.type in GraphedSteps.DEVICES)
            and trainer.world_size == trainer.accumulate_grad_batches == 1
            and trainer.gradient_clip_val is None
            and trainer.precision != "16-mixed"
        )

    def _train_on(self, batch: Batch) -> tuple[Tensor, Tensor]:
        return self._losses(*outputs_of(self.network, batch), batch)

    def _losses(self, logits: Tensor, raw: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss of a batch, and what it adds to the sums of an epoch."""
        logits = logits.float()  # in which the largest is found four times as fast
        policy, policy_rows = policy_loss(logits, batch, mask_illegal=self.loss.mask_illegal)
        error, value_rows = value_loss(raw, batch, self.loss.q_weight)
        with torch.no_grad():
            right = (logits.argmax(1) == batch["label"]).sum()
            rows = torch.full_like(right, len(logits))
            found = [policy_rows, policy * policy_rows, value_rows, error * value_rows, right, rows]
            sums = torch.stack(found).to(self._sums.dtype)
        return policy + self.loss.value_weight * error, sums

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add a held-out batch to the metrics."""
        with torch.autocast(self.device.type, enabled=False):
            logits, raw = outputs_of(self.network, batch)
        self._heldout.update(logits, value_of(raw), batch)
        self._heldout_sums += self._losses(logits, raw, batch)[1]

    # --- hooks of Lightning ---------------------------------------------------------------------------

    def setup(self, stage: str) -> None:
        """Prepare the rows for the network, and note which positions they train on."""
        if self.network.CHANNELS_LAST:
            self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        data = getattr(self.trainer, "datamodule", None)
        if isinstance(data, RowsDataModule):
            if data.game != (game := self.network.encode.GAME):
                raise ValueError(f"expected rows of {game}, the network's game, found {data.game}")
            data.prepare(self.network.encode)
            data.joined, self._rows = 1, data.batch_size
            if self.whole_steps:  # the learning rate changes after each of Lightning's
                data.joined = max(1, min(self.JOINED, data.steps_per_epoch // 32))
            self._seen = data.train_positions()
        # A network that was loaded is in evaluation mode, which Lightning keeps.
        self.network.train()

    def on_train_start(self) -> None:
        """Restore the random numbers of interrupted training."""
        if self._random is not None:
            torch.set_rng_state(self._random)
            self._random = None
        self._sums = self._sums.to(self.device)

    def on_train_epoch_start(self) -> None:
        """Begin the means of an epoch."""
        self._sums = self._zeros()

    def on_train_epoch_end(self) -> None:
        """Log the means of the epoch."""
        self.log_dict(self.training_report())

    def on_validation_epoch_start(self) -> None:
        """Begin the held-out metrics."""
        self._heldout = Metrics(self._seen)
        self._heldout_sums = self._zeros()

    def on_validation_epoch_end(self) -> None:
        """Log the held-out metrics."""
        shown, policy, known, error, _, _ = self._heldout_sums.tolist()
        self.report = {f"heldout_{name}": float(value) for name, value in self._heldout.report().items()}
        self.report["heldout_training_policy_loss"] = policy / max(shown, 1)
        if known:
            self.report["heldout_training_value_loss"] = error / known
        self._heldout = Metrics()
        self.log_dict(self.report)

    def training_report(self) -> dict[str, float]:
        """Mean losses and accuracy over the epoch so far; waits for the device."""
        shown, policy, known, error, right, rows = self._sums.tolist()
        return {
            "train_policy_loss": policy / max(shown, 1),
            "train_value_loss": error / max(known, 1),
            "train_top1": right / max(rows, 1),
        }

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip gradients here: Lightning refuses to for fused optimizers."""
        if self.optimizing.clip:
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.optimizing.clip)

    def optimizer_step(self, *arguments: Any, **more: Any) -> None:
        """Step, and clip the weights before any callback sees them."""
        super().optimizer_step(*arguments, **more)
        self.network.clip_weights()

    def on_fit_end(self) -> None:
        """Free the CUDA graphs."""
        self.steps.close()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Keep what an epoch needs that is continued in its middle."""
        checkpoint["ckai"] = {"sums": self._sums.cpu(), "random": torch.get_rng_state()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take over what `on_save_checkpoint` kept."""
        kept = checkpoint.get("ckai", {})
        self._sums, self._random = kept.get("sums", self._sums), kept.get("random")

    def configure_optimizers(self) -> Any:
        """AdamW and its schedule; biases and norms have no weight decay."""
        config = self.optimizing
        decayed: dict[bool, list[torch.nn.Parameter]] = {True: [], False: []}
        for name, parameter in self.network.named_parameters():
            decayed[parameter.ndim > 1 and not name.endswith("bias")].append(parameter)
        groups = [
            {"params": decayed[True], "weight_decay": config.weight_decay},
            {"params": decayed[False], "weight_decay": 0.0},
        ]
        # Fused, it would unscale the gradients of float16 after they are clipped.
        optimizer = torch.optim.AdamW(groups, lr=config.lr, fused=self.trainer.precision != "16-mixed")
        steps = self.trainer.estimated_stepping_batches
        if math.isinf(steps):  # nobody knows when it ends
            return optimizer
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: config.factor(step, int(steps)))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _zeros(self) -> Tensor:
        """Sums of nothing; in float32 where the device has no float64."""
        dtype = torch.float32 if self.device.type == "mps" else torch.float64
        return torch.zeros(6, dtype=dtype, device=self.device)
