"""How well a network predicts the moves played and the results; shared by training and `ckai evaluate`.

Shares and probabilities are in [0, 1]; values and results are in [-1, 1] for the side to move. Names of the
report:

    rows                        rows evaluated
    top1 .. top5                share with the action played among the k highest logits, illegal ones included
    top1_legal .. top5_legal    the same among the legal actions
    top1_unforced               top1_legal on rows with two or more legal actions
    unseen                      share of positions (board and jumper) that the training side does not contain
    top1_unseen                 top1 on those
    illegal_top1                share of rows whose highest logit is an illegal action
    illegal_probability         mean probability of all illegal actions together
    random_legal                expected share right for a random legal action
    policy_loss                 mean cross-entropy over all actions, in nats
    policy_loss_legal           the same over the legal actions
    value_rows                  rows with a known result
    value_mse                   mean (value - z)^2 on them
    value_mse_constant          the same for the best constant: what a value head must beat
    value_auc                   AUC of won against lost rows: chance that the won one has the higher value
    value_calibration_error     expected calibration error of the value against the mean result
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.schema import DatasetError
from ckai.datasets.split import Split, position_keys
from ckai.models.checkpoint import Checkpoint
from ckai.models.inference.backends import pick_device
from ckai.models.network import Network

_TOPS = (1, 2, 3, 5)
_MAIN = ("rows", "top1_legal", "top5_legal", "top1_unforced", "random_legal", "value_mse", "value_auc")
"""Metrics of each phase of the game."""
PLIES, LAST_PHASE = 10, 100
"""Plies of a phase of the game; the last phase begins at ply 100 and is open-ended."""
BINS = 10
"""Bins of the calibration."""
MOST_GAMES: Final = 32_768
"""Most keys of learned games in a checkpoint: 8 bytes each."""

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
    """Collects figures of every row; `report` and `by_ply` summarise them."""

    def __init__(self, seen: NDArray[np.uint64] | None = None) -> None:
        """Start without rows.

        Args:
            seen: `[K]` uint64, keys of the training side's positions; None: nothing is said of unseen ones.
        """
        self._seen = seen
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
                "value": value,
                **{name: batch[name] for name in ("z", "z_known", "ply", "board", "jumper")},
            }
        )

    def _columns(self) -> dict[str, Numbers]:
        """The figures of every row by name, `[rows]` each; none without rows."""
        if not self._parts:
            return {}
        columns: dict[str, Numbers] = {
            name: torch.cat([part[name] for part in self._parts]).cpu().numpy() for name in self._parts[0]
        }
        board, jumper = columns.pop("board"), columns.pop("jumper")
        if self._seen is not None:
            columns["unseen"] = ~np.isin(position_keys(board, jumper), self._seen)
        return columns

    def report(self) -> Report:
        """The metrics by name, see the module's docstring; a mean over no rows is left out."""
        columns = self._columns()
        return summary(columns) if columns else {"rows": 0}

    def by_ply(self) -> list[Report]:
        """The main metrics by phase of the game: dicts with `from`, `to` (inclusive), `rows` and these."""
        c = self._columns()
        if not c:
            return []
        phase = np.minimum(c["ply"], LAST_PHASE) // PLIES
        groups = []
        for number in np.unique(phase).tolist():
            inside, low = phase == number, number * PLIES
            high = low + PLIES - 1 if low < LAST_PHASE else max(LAST_PHASE, int(c["ply"].max()))
            part = summary({key: column[inside] for key, column in c.items()})
            groups.append({"from": low, "to": high} | {key: part[key] for key in _MAIN if key in part})
        return groups


def summary(c: dict[str, Numbers]) -> Report:
    """The report of at least one row, given as columns; see the module's docstring."""
    n = len(c["rank"])
    out: Report = {"rows": n}
    for suffix, rank in (("", c["rank"]), ("_legal", c["rank_legal"])):
        out |= {f"top{k}{suffix}": float((rank < k).mean()) for k in _TOPS}
    several = c["choices"] > 1
    first = c["rank_legal"] < 1
    if several.any():
        out["top1_unforced"] = float(first[several].mean())
    if "unseen" in c:
        unseen = c["unseen"]
        out["unseen"] = float(unseen.mean())
        if unseen.any():
            out["top1_unseen"] = float((c["rank"] < 1)[unseen].mean())
    out["random_legal"] = float((1 / c["choices"]).mean())
    for name in ("illegal_top1", "illegal_probability", "policy_loss", "policy_loss_legal"):
        out[name] = float(c[name].mean(dtype=np.float64))
    has_result = c["z_known"]
    out["value_rows"] = int(has_result.sum())
    if has_result.any():
        value, z = c["value"][has_result].astype(np.float64), c["z"][has_result].astype(np.float64)
        out["value_mse"] = float(((value - z) ** 2).mean())
        out["value_mse_constant"] = float(z.var())
        out["value_calibration_error"] = calibration_error(value, z)
        won, lost = value[z > 0], value[z < 0]
        if len(won) and len(lost):
            out["value_auc"] = auc(won, lost)
    return out


def auc(high: Numbers, low: Numbers) -> float:
    """The chance that a number of `high` is above one of `low`, ties counted half; NaN if any is NaN."""
    if np.isnan(high).any() or np.isnan(low).any():
        return float("nan")
    low = np.sort(low)
    below = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    return float(below.mean(dtype=np.float64) / 2 / len(low))


def calibration_error(predicted: Numbers, observed: Numbers) -> float:
    """Expected calibration error in `BINS` equal parts of [-1, 1]; NaN if any prediction is NaN."""
    with np.errstate(invalid="ignore"):  # as an integer, NaN is in a bin like any other
        part = np.clip(((predicted + 1) / 2 * BINS).astype(np.int64), 0, BINS - 1)
    gaps = np.bincount(part, predicted, BINS) - np.bincount(part, observed, BINS)
    return float(np.abs(gaps).sum() / max(1, len(predicted)))


def measure(
    network: Network,
    batches: Iterable[dict[str, Tensor]],
    *,
    seen: NDArray[np.uint64] | None = None,
    device: str | torch.device = "cpu",
) -> Metrics:
    """Evaluate a network, which is on the device, on batches; its mode and weights are left as they are.

    For the arguments see `Metrics` and `ckai.datasets.data_module`, such as `data.batches("heldout")`.
    """
    metrics = Metrics(seen)
    training = network.training
    network.eval()
    with torch.inference_mode():
        for batch in batches:
            moved = {name: tensor.to(device, non_blocking=True) for name, tensor in batch.items()}
            logits, value = network(moved["board"], moved["jumper"], moved["quiet"], moved.get("extra"))
            metrics.update(logits, value, moved)
    network.train(training)
    return metrics


def learned_games(info: Mapping[str, Any]) -> NDArray[np.uint64] | None:
    """Return the sorted keys in a checkpoint with this `info`, None if it does not say.

    They are all if they are fewer than `MOST_GAMES`.
    """
    games = info.get("games")
    return None if games is None else games.numpy().view(np.uint64)


def origin(info: Mapping[str, Any], data: RowsDataModule) -> dict[str, Any]:
    """Return the entries `data`, `split` and `games` of a checkpoint whose training began from `info`."""
    entries = list(info.get("data") or ())
    rows: Counter[str] = Counter()
    for file in data.files.files:
        # The shards of a run are one data set, from which each generation takes some more.
        run = file.path.parent.parent.name if file.shard is not None else None
        rows[file.path.name if run is None else run] += file.rows
    for name, count in rows.items():
        entry = {"name": name, "rows": count}
        entries = [*(other for other in entries if other["name"] != name), entry]
    split = {"seed": data.split_seed, "heldout": data.heldout}
    before = info.get("split", split)
    if before.get("seed", 0) == split["seed"]:  # what was learned once is never held out again
        split["heldout"] = min(split["heldout"], before.get("heldout", split["heldout"]))
    found = {"data": entries, "split": split}
    learned = learned_games(info)
    if learned is not None or not info.get("data"):  # else nobody knows all of them
        keys = data.train_games if learned is None else np.union1d(learned, data.train_games)
        found["games"] = torch.from_numpy(keys[:MOST_GAMES].view(np.int64).copy())
    return found


def check_held_out(name: str, info: Mapping[str, Any], data: RowsDataModule) -> None:
    """Check that no held-out games are among those that a network to be trained further has learned.

    Raises:
        DatasetError: some are; `name` is of the network's checkpoint.
    """
    learned = learned_games(info)
    if learned is not None and (common := int(np.isin(data.heldout_games, learned).sum())):
        before = info.get("split", {})
        then = f"heldout={before['heldout']} and split_seed={before['seed']}, as then, or "
        raise DatasetError(
            f"{name}: was trained on {common:,} of the {len(data.heldout_games):,} games that would be held "
            f"out now; use --setting {then if before.get('heldout') else ''}heldout=0"
        )


@dataclass(frozen=True)
class Evaluation:
    """The metrics of a checkpoint, and the rows they were computed on."""

    metrics: dict[str, Any]
    """See `ckai.models.evaluation`."""
    by_ply: list[dict[str, Any]]
    """See `Metrics.by_ply`."""
    parameters: int
    split: Split
    """The games: "heldout", split as for its training, or "all" if the network learned none of them."""
    split_seed: int
    heldout: float
    """Share of the games held out with that seed."""
    learned: int | None
    """Games of these that the network is known to have learned; None if the checkpoint does not say."""


def evaluate_checkpoint(checkpoint: Checkpoint, paths: Sequence[str | Path]) -> Evaluation:
    """Evaluate a checkpoint on the held-out games of some, or on all if it was trained on none of them.

    If so, nothing is said of unseen positions.

    Args:
        checkpoint: the network, of any game, and how its training data were split.
        paths: row files of the same game.

    Raises:
        DatasetError: data that cannot be used, or no held-out games.
        CheckpointError: weights that do not fit the architecture.
    """
    network = checkpoint.network()
    stored = checkpoint.info.get("split", {})
    seed, share = int(stored.get("seed", 0)), float(stored.get("heldout", 0.1))
    data = RowsDataModule(
        paths, heldout=share, split_seed=seed, need_both_sides=False, game=network.encode.GAME
    )
    learned = learned_games(checkpoint.info)
    split: Split = "heldout"
    if learned is not None and len(learned) < MOST_GAMES:
        every = np.append(data.train_games, data.heldout_games)
        split = "heldout" if np.isin(every, learned).any() else "all"
    if split == "heldout" and not data.heldout_rows:
        all_games = "" if share or not stored else ": the network was trained on all games"
        raise DatasetError(
            f"expected held-out games, found none with a share of {share:g}{all_games}; take other games"
        )
    device = pick_device()
    data.prepare(network.encode)
    seen = None if split == "all" else data.train_positions()
    measured = measure(network.to(device), data.batches(split), seen=seen, device=device)
    return Evaluation(
        measured.report(),
        measured.by_ply(),
        sum(p.numel() for p in network.parameters()),
        split,
        seed,
        share,
        None if learned is None else int(np.isin(data.heldout_games, learned).sum()),
    )
