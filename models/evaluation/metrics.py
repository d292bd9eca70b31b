"""How well a network says what was played and how games end; shared by training and `ckai evaluate`.

All shares are in [0, 1]; values and results are the mover's. Names of the report:

    rows              rows measured
    top1 .. top5      the move played is among the k highest raw scores, illegal labels included
    top1_legal .. top5_legal the same among the legal labels
    forced            share of rows with a single legal label
    top1_unforced     top1_legal where there were two or more legal labels
    top1_unseen       top1 on positions (board and jumper) that the training side does not hold
    top1_legal_unseen top1_legal on those; unseen: their share
    illegal_top1      share of rows whose highest raw score is an illegal label
    illegal_probability      mean probability on illegal labels
    random_legal      expected share right for a legal label drawn at random
    policy_loss       mean cross-entropy of the raw scores; policy_loss_legal among the legal labels
    policy_calibration_error mean distance between the first legal label's probability and how often it is
    right value_rows        rows with a known result
    value_mse         mean (value - z)^2 on them
    value_mse_constant       the same for the best constant: what a value head must beat
    value_sign        share of decided games whose winner the value's sign names
    value_auc      chance that a won row has a higher value than a lost one (area under the ROC curve)
    value_calibration_error  mean distance between the value and the mean result of rows with such a value
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ckai.datasets.split import position_keys
from ckai.models.layers.network import Network

_TOPS = (1, 2, 3, 5)
PLIES, LAST_PHASE = 10, 100
"""Plies of a phase of the game; the last begins at ply 100 and has all that follow."""
PIECES = (4, 8, 12, 16, 20, 24)
"""Most pieces on the board of each group."""
BINS = 10
"""Of a calibration: equal parts of [0, 1] or [-1, 1]."""

Numbers = NDArray[Any]
Report = dict[str, Any]


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
    """Some numbers of every row; `report` and `breakdown` sum them up."""

    def __init__(self, seen: NDArray[np.uint64] | None = None) -> None:
        """Start from nothing.

        Args:
            seen: sorted keys of the training side's positions; without them nothing is said of unseen ones.
        """
        self._seen = seen
        self._parts: list[dict[str, Tensor]] = []

    def update(self, logits: Tensor, value: Tensor, batch: dict[str, Tensor]) -> None:
        """Add a batch.

        Args:
            logits: `[B, 128]` raw scores.
            value: `[B]` in [-1, 1].
            batch: see `ckai.datasets.data_module`, on the same device.
        """
        logits, value = logits.float(), value.float()
        label, legal = batch["label"], unpack_legal(batch["legal"])[:, : logits.shape[1]]
        masked = logits.masked_fill(~legal, -torch.inf)
        log_p, log_p_legal = functional.log_softmax(logits, 1), functional.log_softmax(masked, 1)
        self._parts.append(
            {
                "rank": rank_of(logits, label),
                "rank_legal": rank_of(masked, label),
                "choices": legal.sum(1),
                "illegal_top1": ~legal.gather(1, logits.argmax(1, keepdim=True))[:, 0],
                "illegal_probability": log_p.exp().masked_fill(legal, 0).sum(1),
                "policy_loss": -log_p.gather(1, label.unsqueeze(1))[:, 0],
                "policy_loss_legal": -log_p_legal.gather(1, label.unsqueeze(1))[:, 0],
                "confidence": log_p_legal.max(1).values.exp(),
                "value": value,
                **{name: batch[name] for name in ("z", "z_known", "ply", "board", "jumper")},
            }
        )

    def columns(self) -> dict[str, Numbers]:
        """The numbers of every row by name, `[rows]` each; `pieces` are those on the board."""
        names = self._parts[0] if self._parts else []
        found: dict[str, Numbers] = {
            name: torch.cat([part[name] for part in self._parts]).cpu().numpy() for name in names
        }
        if found:
            board, jumper = found.pop("board"), found.pop("jumper")
            found["pieces"] = (board != 0).sum(1)
            if self._seen is not None:
                found["unseen"] = ~is_in(position_keys(board, jumper), self._seen)
        return found

    def report(self) -> Report:
        """The numbers by name, see the module's page; a share of no rows is left out."""
        columns = self.columns()
        return {"rows": 0} if not columns else summary(columns)

    def breakdown(self) -> Report:
        """The same by phase of the game and by pieces, and how far probabilities and values can be trusted.

        Returns:
            `by_ply`, `by_pieces`: a list of `from`, `to` (both included), `rows`, and the shares that say
            most; `policy_calibration`: `confidence`, `right`, `rows` of the first legal label's
            probability, in ten parts of [0, 1]; `value_calibration`: `value`, `z`, `rows` in ten parts of
            [-1, 1].
        """
        c = self.columns()
        if not c:
            return {}
        known = c["z_known"]
        right = _calibration(c["confidence"], c["rank_legal"] < 1, 0.0)
        ends = _calibration(c["value"][known], c["z"][known], -1.0)
        phases = [(low, low + PLIES - 1) for low in range(0, LAST_PHASE, PLIES)]
        phases.append((LAST_PHASE, max(LAST_PHASE, int(c["ply"].max()))))
        pieces = [(low + 1, high) for low, high in zip((0, *PIECES), PIECES, strict=False)]
        return {
            "by_ply": _groups(c, "ply", phases),
            "by_pieces": _groups(c, "pieces", pieces),
            "policy_calibration": [{"confidence": x, "right": y, "rows": n} for x, y, n in right],
            "value_calibration": [{"value": x, "z": y, "rows": n} for x, y, n in ends],
        }


def summary(c: dict[str, Numbers]) -> Report:
    """The report of rows given as columns, at least one row; see the module's page."""
    n = len(c["rank"])
    out: Report = {"rows": n}
    for suffix, rank in (("", c["rank"]), ("_legal", c["rank_legal"])):
        out |= {f"top{k}{suffix}": float((rank < k).mean()) for k in _TOPS}
    several = c["choices"] > 1
    out["forced"] = float(1 - several.mean())
    first = c["rank_legal"] < 1
    if several.any():
        out["top1_unforced"] = float(first[several].mean())
    if "unseen" in c:
        unseen = c["unseen"]
        out["unseen"] = float(unseen.mean())
        if unseen.any():
            out["top1_unseen"] = float((c["rank"] < 1)[unseen].mean())
            out["top1_legal_unseen"] = float(first[unseen].mean())
    out["random_legal"] = float((1 / c["choices"]).mean())
    for name in ("illegal_top1", "illegal_probability", "policy_loss", "policy_loss_legal"):
        out[name] = float(c[name].mean(dtype=np.float64))
    out["policy_calibration_error"] = _calibration_error(_calibration(c["confidence"], first, 0.0))
    known = c["z_known"]
    out["value_rows"] = int(known.sum())
    if known.any():
        value, z = c["value"][known].astype(np.float64), c["z"][known].astype(np.float64)
        out["value_mse"] = float(((value - z) ** 2).mean())
        out["value_mse_constant"] = float(z.var())
        out["value_calibration_error"] = _calibration_error(_calibration(value, z, -1.0))
        won, lost = value[z > 0], value[z < 0]
        if len(won) + len(lost):
            out["value_sign"] = float(((won > 0).sum() + (lost < 0).sum()) / (len(won) + len(lost)))
        if len(won) and len(lost):
            out["value_auc"] = auc(won, lost)
    return out


def auc(high: Numbers, low: Numbers) -> float:
    """Chance that a number of `high` is above one of `low`, a tie counted half: the Mann-Whitney
    statistic."""
    low = np.sort(low)
    below = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    return float(below.mean(dtype=np.float64) / 2 / len(low))


def _groups(c: dict[str, Numbers], name: str, ranges: list[tuple[int, int]]) -> list[Report]:
    kept = ("rows", "top1_legal", "top5_legal", "top1_unforced", "random_legal", "value_mse", "value_auc")
    found = []
    for low, high in ranges:
        inside = (c[name] >= low) & (c[name] <= high)
        if inside.any():
            part = summary({key: column[inside] for key, column in c.items()})
            found.append({"from": low, "to": high} | {key: part[key] for key in kept if key in part})
    return found


def _calibration(said: Numbers, came: Numbers, low: float) -> list[tuple[float, float, int]]:
    """Mean of what was said, mean of what came, and rows, of each part of [low, 1] that has any."""
    part = np.clip(((said - low) / (1 - low) * BINS).astype(np.int64), 0, BINS - 1)
    rows = np.bincount(part, minlength=BINS)
    total = np.bincount(part, said, BINS), np.bincount(part, came, BINS)
    return [(float(total[0][i] / n), float(total[1][i] / n), int(n)) for i, n in enumerate(rows) if n]


def _calibration_error(bins: list[tuple[float, float, int]]) -> float:
    return sum(abs(x - y) * n for x, y, n in bins) / max(1, sum(n for _, _, n in bins))


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
) -> Metrics:
    """Look at batches with a network; its mode and weights are left as they are.

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
            extra = network.encode.extra(batch["board"], batch["jumper"])
            moved = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
            looked = None if extra is None else extra.to(device)
            logits, value = network(moved["board"], moved["jumper"], moved["quiet"], looked)
            metrics.update(logits, value, moved)
    network.train(training)
    return metrics
