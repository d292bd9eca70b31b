"""How well a network predicts the moves played and the results; shared by training and `ckai evaluate`.

Shares and probabilities are in [0, 1]; values and results are in [-1, 1] for the side to move. Names of the
report:

    rows                        rows evaluated
    top1 .. top5                share with the action played among the k highest logits, illegal ones included
    top1_legal .. top5_legal    the same among the legal actions
    forced                      share of rows with a single legal action
    top1_unforced               top1_legal on rows with two or more legal actions
    unseen                      share of positions (board and jumper) that the training side does not contain
    top1_unseen                 top1 on those
    top1_legal_unseen           top1_legal on those
    illegal_top1                share of rows whose highest logit is an illegal action
    illegal_probability         mean probability of all illegal actions together
    random_legal                expected share right for a random legal action
    policy_loss                 mean cross-entropy over all actions, in nats
    policy_loss_legal           the same over the legal actions
    policy_calibration_error    expected calibration error of the likeliest legal action's probability
    value_rows                  rows with a known result
    value_mse                   mean (value - z)^2 on them
    value_mse_constant          the same for the best constant: what a value head must beat
    value_sign                  share of decided rows whose winner has the value's sign
    value_auc                   AUC of won against lost rows: chance that the won one has the higher value
    value_calibration_error     expected calibration error of the value against the mean result

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
"""Plies of a phase of the game; the last phase begins at ply 100 and is open-ended."""
PIECES = (4, 8, 12, 16, 20, 24)
"""Most pieces on the board of each group; fuller boards of other games are one more group."""
BINS = 10
"""Bins of a calibration: equal parts of [0, 1] or [-1, 1]."""

Numbers = NDArray[Any]
Report = dict[str, Any]


def unpack_legal(legal: Tensor) -> Tensor:
    """`[B, bytes]` uint8 little-endian bits to `[B, 8 * bytes]` bool, on the device of the input."""
    bits = torch.arange(8, dtype=torch.uint8, device=legal.device)
    return ((legal.unsqueeze(2) >> bits) & 1).flatten(1).bool()


def rank_of(scores: Tensor, action: Tensor) -> Tensor:
    """The rank of the action played: `[B]` int64, 0 = it has the highest score.

    Args:
        scores: `[B, M]` floats.
        action: `[B]` int64. On equal scores the lower action ranks first; NaN ranks last.
    """
    own = scores.gather(1, action.unsqueeze(1))
    actions = torch.arange(scores.shape[1], device=scores.device)
    # So that a NaN, which compares as false with everything, is never a network that is right.
    behind = (scores < own) | ((scores == own) & (actions >= action.unsqueeze(1)))
    return (~behind).sum(1)


class Metrics:
    """Collects figures of every row; `report` and `breakdown` summarise them."""

    def __init__(self, seen: NDArray[np.uint64] | None = None, bytes_per_square: int = 1) -> None:
        """Start without rows.

        Args:
            seen: `[K]` uint64, sorted keys of the training side's positions; None: leave out the metrics of
                unseen positions.
            bytes_per_square: of a board; the first has the piece, see `Encoding.BYTES_PER_SQUARE`.
        """
        self._seen, self._bytes_per_square = seen, bytes_per_square
        self._parts: list[dict[str, Tensor]] = []

    def update(self, logits: Tensor, value: Tensor, batch: dict[str, Tensor]) -> None:
        """Add a batch.

        Args:
            logits: `[B, M]` logits, M at most 8 for each byte of `batch["legal"]`.
            value: `[B]` in [-1, 1], for the side to move.
            batch: see `ckai.datasets.data_module`, on the same device.
        """
        logits, value = logits.float(), value.float()
        action, legal = batch["label"], unpack_legal(batch["legal"])[:, : logits.shape[1]]
        masked = logits.masked_fill(~legal, -torch.inf)
        log_p, log_p_legal = functional.log_softmax(logits, 1), functional.log_softmax(masked, 1)
        self._parts.append(
            {
                "rank": rank_of(logits, action),
                "rank_legal": rank_of(masked, action),
                "choices": legal.sum(1),
                "illegal_top1": ~legal.gather(1, logits.argmax(1, keepdim=True))[:, 0],
                "illegal_probability": log_p.exp().masked_fill(legal, 0).sum(1),
                "policy_loss": -log_p.gather(1, action.unsqueeze(1))[:, 0],
                "policy_loss_legal": -log_p_legal.gather(1, action.unsqueeze(1))[:, 0],
                "confidence": log_p_legal.max(1).values.exp(),
                "value": value,
                **{name: batch[name] for name in ("z", "z_known", "ply", "board", "jumper")},
            }
        )

    def columns(self) -> dict[str, Numbers]:
        """The figures of every row by name, `[rows]` each; `pieces` is the number on the board."""
        names = self._parts[0] if self._parts else []
        columns: dict[str, Numbers] = {
            name: torch.cat([part[name] for part in self._parts]).cpu().numpy() for name in names
        }
        if columns:
            board, jumper = columns.pop("board"), columns.pop("jumper")
            columns["pieces"] = (board[:, : board.shape[1] // self._bytes_per_square] != 0).sum(1)
            if self._seen is not None:
                columns["unseen"] = ~is_in(position_keys(board, jumper), self._seen)
        return columns

    def report(self) -> Report:
        """The metrics by name, see the module's docstring; a mean over no rows is left out."""
        columns = self.columns()
        return {"rows": 0} if not columns else summary(columns)

    def breakdown(self) -> Report:
        """The main metrics by phase of the game and by pieces on the board, and the calibration.

        Returns:
            `by_ply`, `by_pieces`: a list of dicts with `from`, `to` (inclusive), `rows` and the main metrics;
            `policy_calibration`: `confidence`, `right`, `rows` of the likeliest legal action's probability,
            in ten bins of [0, 1]; `value_calibration`: `value`, `z`, `rows` in ten bins of [-1, 1].
        """
        c = self.columns()
        if not c:
            return {}
        has_result = c["z_known"]
        right = _calibration(c["confidence"], c["rank_legal"] < 1, 0.0)
        ends = _calibration(c["value"][has_result], c["z"][has_result], -1.0)
        phases = [(low, low + PLIES - 1) for low in range(0, LAST_PHASE, PLIES)]
        phases.append((LAST_PHASE, max(LAST_PHASE, int(c["ply"].max()))))
        pieces = [(low + 1, high) for low, high in zip((0, *PIECES), PIECES, strict=False)]
        pieces[0] = (0 if c["pieces"].min() == 0 else 1, PIECES[0])  # other games begin with an empty board
        if c["pieces"].max() > PIECES[-1]:
            pieces.append((PIECES[-1] + 1, int(c["pieces"].max())))
        return {
            "by_ply": _groups(c, "ply", phases),
            "by_pieces": _groups(c, "pieces", pieces),
            "policy_calibration": [{"confidence": x, "right": y, "rows": n} for x, y, n in right],
            "value_calibration": [{"value": x, "z": y, "rows": n} for x, y, n in ends],
        }


def summary(c: dict[str, Numbers]) -> Report:
    """The report of at least one row, given as columns; see the module's docstring."""
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
    has_result = c["z_known"]
    out["value_rows"] = int(has_result.sum())
    if has_result.any():
        value, z = c["value"][has_result].astype(np.float64), c["z"][has_result].astype(np.float64)
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
    """Area under the ROC curve: the chance that a number of `high` is above one of `low`, ties counted half.

    The Mann-Whitney statistic divided by the number of pairs; NaN if any number is NaN.
    """
    if np.isnan(high).any() or np.isnan(low).any():
        return float("nan")
    low = np.sort(low)
    below = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    return float(below.mean(dtype=np.float64) / 2 / len(low))


def _groups(c: dict[str, Numbers], name: str, ranges: list[tuple[int, int]]) -> list[Report]:
    kept = ("rows", "top1_legal", "top5_legal", "top1_unforced", "random_legal", "value_mse", "value_auc")
    groups = []
    for low, high in ranges:
        inside = (c[name] >= low) & (c[name] <= high)
        if inside.any():
            part = summary({key: column[inside] for key, column in c.items()})
            groups.append({"from": low, "to": high} | {key: part[key] for key in kept if key in part})
    return groups


def _calibration(predicted: Numbers, observed: Numbers, low: float) -> list[tuple[float, float, int]]:
    """Mean prediction, mean observation and rows of each non-empty bin of [low, 1]; one bin of NaN if any
    prediction is NaN."""
    if np.isnan(predicted).any():
        return [(float("nan"), float("nan"), len(predicted))]
    part = np.clip(((predicted - low) / (1 - low) * BINS).astype(np.int64), 0, BINS - 1)
    rows = np.bincount(part, minlength=BINS)
    total = np.bincount(part, predicted, BINS), np.bincount(part, observed, BINS)
    return [(float(total[0][i] / n), float(total[1][i] / n), int(n)) for i, n in enumerate(rows) if n]


def _calibration_error(bins: list[tuple[float, float, int]]) -> float:
    return sum(abs(x - y) * n for x, y, n in bins) / max(1, sum(n for _, _, n in bins))


def is_in(keys: NDArray[np.uint64], sorted_keys: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """`[N]` bool, which of `keys` are in `sorted_keys`."""
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
    """Evaluate a network on batches; its mode and weights are left as they are.

    Args:
        network: already on `device`.
        batches: see `ckai.datasets.data_module`.
        seen: `[K]` uint64, sorted keys of the training side's positions.
        device: the device to compute on.

    Examples:
        >>> from ckai.datasets import RowsDataModule
        >>> from ckai.models import load_network
        >>> data = RowsDataModule(["games.parquet"], heldout=0.5)
        >>> report = measure(load_network("network.ckpt"), data.batches("all")).report()
        >>> report["rows"], round(report["random_legal"], 2)
        (11, 0.25)
    """
    metrics = Metrics(seen, network.encode.BYTES_PER_SQUARE)
    training = network.training
    network.eval()
    with torch.inference_mode():
        for batch in batches:
            moved = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
            logits, value = network(moved["board"], moved["jumper"], moved["quiet"], moved.get("extra"))
            metrics.update(logits, value, moved)
    network.train(training)
    return metrics
