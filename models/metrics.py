"""How well a network says what was played and how games end; shared by training and `ckai evaluate`.

All shares are in [0, 1]; values and results are the mover's. Names of the report:

    rows              rows measured
    top1 .. top5      the move played is among the k highest raw scores, illegal labels included
    top1_legal, top5_legal   the same among the legal labels
    forced            share of rows with a single legal label
    top1_unforced     top1_legal where there were two or more legal labels
    top1_unseen       top1 on positions (board and jumper) that the training side does not hold
    top1_legal_unseen top1_legal on those; unseen: their share
    illegal_top1      share of rows whose highest raw score is an illegal label
    illegal_probability      mean probability on illegal labels
    random_legal      expected share right for a legal label drawn at random
    policy_loss       mean cross-entropy of the raw scores; policy_loss_legal among the legal labels
    value_rows        rows with a known result
    value_mse         mean (value - z)^2 on them
    value_mse_constant       the same for the best constant: what a value head must beat
    value_sign        share of decided games whose winner the value's sign names
"""

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ckai.datasets.split import position_keys
from ckai.models.registry import Network

_TOPS = (1, 2, 3, 5)


def unpack_legal(legal: Tensor) -> Tensor:
    """`[B, 16]` uint8 little-endian bits to `[B, 128]` bool, on the device of the input."""
    bits = torch.arange(8, dtype=torch.uint8, device=legal.device)
    return ((legal.unsqueeze(2) >> bits) & 1).flatten(1).bool()


def rank_of(scores: Tensor, label: Tensor) -> Tensor:
    """How many labels stand before the one played: `[B]` int64, 0 = it has the highest score.

    Args:
        scores: `[B, M]` floats.
        label: `[B]` int64. Of equal scores the lower label stands first.
    """
    own = scores.gather(1, label.unsqueeze(1))
    labels = torch.arange(scores.shape[1], device=scores.device)
    before = (scores > own) | ((scores == own) & (labels < label.unsqueeze(1)))
    return before.sum(1)


class Metrics:
    """Sums over batches; `report` divides them."""

    def __init__(self, seen: NDArray[np.uint64] | None = None) -> None:
        """Start from nothing.

        Args:
            seen: sorted keys of the training side's positions; without them nothing is said of unseen ones.
        """
        self._seen = seen
        self._sums: dict[str, Tensor] = {}
        self._rows = 0

    def update(self, logits: Tensor, value: Tensor, batch: dict[str, Tensor]) -> None:
        """Add a batch.

        Args:
            logits: `[B, 128]` raw scores.
            value: `[B]` in [-1, 1].
            batch: see `ckai.datasets.data_module`, on the same device.
        """
        logits, value = logits.float(), value.float()
        label, legal = batch["label"], unpack_legal(batch["legal"])
        masked = logits.masked_fill(~legal, -torch.inf)
        rank, rank_legal = rank_of(logits, label), rank_of(masked, label)
        choices = legal.sum(1)
        several = choices > 1
        log_p, log_p_legal = functional.log_softmax(logits, 1), functional.log_softmax(masked, 1)
        add = self._add
        for k in _TOPS:
            add(f"top{k}", rank < k)
        add("top1_legal", rank_legal < 1)
        add("top5_legal", rank_legal < 5)
        add("unforced", several)
        add("top1_unforced", (rank_legal < 1) & several)
        add("illegal_top1", ~legal.gather(1, logits.argmax(1, keepdim=True)))
        add("illegal_probability", log_p.exp().masked_fill(legal, 0).sum(1))
        add("random_legal", 1 / choices)
        add("policy_loss", -log_p.gather(1, label.unsqueeze(1)))
        add("policy_loss_legal", -log_p_legal.gather(1, label.unsqueeze(1)))
        known, z = batch["z_known"], batch["z"]
        add("value_rows", known)
        add("value_error", torch.where(known, (value - z) ** 2, 0))
        add("z", torch.where(known, z, 0))
        add("z2", torch.where(known, z * z, 0))
        decided = known & (z != 0)
        add("decided", decided)
        add("value_sign", decided & (value * z > 0))
        if self._seen is not None:
            keys = position_keys(batch["board"].cpu().numpy(), batch["jumper"].cpu().numpy())
            unseen = torch.from_numpy(~is_in(keys, self._seen)).to(label.device)
            add("unseen", unseen)
            add("top1_unseen", (rank < 1) & unseen)
            add("top1_legal_unseen", (rank_legal < 1) & unseen)
        self._rows += len(label)

    def _add(self, name: str, values: Tensor) -> None:
        total = values.sum(dtype=torch.float64)
        self._sums[name] = self._sums[name] + total if name in self._sums else total

    def report(self) -> dict[str, float | int]:
        """The numbers by name, see the module's page; a share of no rows is left out."""
        s = {name: float(total) for name, total in self._sums.items()}
        out: dict[str, float | int] = {"rows": self._rows}
        if not self._rows:
            return out
        n = self._rows
        for name in ("top1", "top2", "top3", "top5", "top1_legal", "top5_legal"):
            out[name] = s[name] / n
        out["forced"] = 1 - s["unforced"] / n
        if s["unforced"]:
            out["top1_unforced"] = s["top1_unforced"] / s["unforced"]
        if self._seen is not None:
            out["unseen"] = s["unseen"] / n
            if s["unseen"]:
                out["top1_unseen"] = s["top1_unseen"] / s["unseen"]
                out["top1_legal_unseen"] = s["top1_legal_unseen"] / s["unseen"]
        for name in (
            "illegal_top1",
            "illegal_probability",
            "random_legal",
            "policy_loss",
            "policy_loss_legal",
        ):
            out[name] = s[name] / n
        out["value_rows"] = known = int(s["value_rows"])
        if known:
            out["value_mse"] = s["value_error"] / known
            out["value_mse_constant"] = s["z2"] / known - (s["z"] / known) ** 2
        if s["decided"]:
            out["value_sign"] = s["value_sign"] / s["decided"]
        return out


def is_in(keys: NDArray[np.uint64], sorted_keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """`[N]` bool, which keys are among the sorted ones."""
    if not len(sorted_keys):
        return np.zeros(len(keys), np.bool_)
    at = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    result: NDArray[np.bool_] = sorted_keys[at] == keys
    return result


def measure(
    network: Network,
    batches: Iterable[dict[str, Tensor]],
    *,
    seen: NDArray[np.uint64] | None = None,
    device: str | torch.device = "cpu",
) -> dict[str, float | int]:
    """Report on a network over batches; its mode and weights are left as they are.

    Args:
        network: on `device` already.
        batches: see `ckai.datasets.data_module`.
        seen: sorted keys of the training side's positions.
        device: where to compute.
    """
    metrics = Metrics(seen)
    training = network.training
    network.eval()
    with torch.inference_mode():
        for batch in batches:
            moved = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
            logits, value = network(moved["board"], moved["jumper"], moved["quiet"])
            metrics.update(logits, value, moved)
    network.train(training)
    return metrics.report()
