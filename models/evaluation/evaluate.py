"""Measuring a checkpoint on rows: `ckai evaluate` without the command."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.schema import DatasetError
from ckai.datasets.split import Split, position_keys
from ckai.game.squares import NUM_ACTIONS
from ckai.models.checkpoint import Checkpoint
from ckai.models.evaluation.metrics import is_in, measure
from ckai.models.inference.choose import evaluations_per_second, sample_positions
from ckai.models.inference.devices import pick_device
from ckai.models.inference.evaluator import TorchEvaluator
from ckai.models.layers.network import Network

DEFAULT_SEED, DEFAULT_HELDOUT = 0, 0.1

ARTICLE = {"top1_of_its_own_training_positions": 0.66}
"""What the article that the network cnn2x2 is from printed; it had no held-out games."""


@dataclass(frozen=True)
class Evaluation:
    """What was measured and on which rows."""

    metrics: dict[str, Any]
    """See `ckai.models.evaluation.metrics`."""
    breakdown: dict[str, Any]
    """See `ckai.models.evaluation.metrics.Metrics.breakdown`."""
    baselines: dict[str, float]
    """What needs no network, see `frequent_moves`."""
    parameters: int
    """Numbers that were learned."""
    split: Split
    split_seed: int
    heldout: float
    """Share of the games held out by that seed."""


def evaluate_checkpoint(
    checkpoint: Checkpoint,
    paths: Sequence[Path],
    *,
    split: Split = "heldout",
    split_seed: int | None = None,
    heldout: float | None = None,
    memory_mb: int = 1024,
) -> Evaluation:
    """Measure a network.

    Unseen positions are those that the training side of `paths` does not hold.

    Args:
        checkpoint: what to measure.
        paths: row files.
        split: which side of the games.
        split_seed, heldout: how they are split; None: as in the checkpoint's training.
        memory_mb: see `RowsDataModule`.

    Raises:
        DatasetError: data that cannot be used, or no rows on that side.
        CheckpointError: weights that do not fit.
    """
    stored = checkpoint.info.get("split", {})
    seed = int(stored.get("seed", DEFAULT_SEED)) if split_seed is None else split_seed
    share = float(stored.get("heldout", DEFAULT_HELDOUT)) if heldout is None else heldout
    if split == "heldout" and not share:
        raise DatasetError("expected a held-out share above 0, found 0: the network was trained on all games")
    network = checkpoint.network()
    data = RowsDataModule(paths, heldout=share, split_seed=seed, memory_mb=memory_mb, need_both_sides=False)
    if split == "heldout" and not data.heldout_rows:
        raise DatasetError(f"expected held-out games, found none with a share of {share}; try --split all")
    device = pick_device()
    found = measure(network.to(device), data.batches(split), seen=data.train_positions(), device=device)
    metrics = found.report()
    if not metrics["rows"]:
        raise DatasetError(f"expected rows on the side {split!r}, found none")
    return Evaluation(
        metrics,
        found.breakdown(),
        frequent_moves(data, split),
        sum(p.numel() for p in network.parameters()),
        split,
        seed,
        share,
    )


def speeds(network: Network, seconds: float = 0.5) -> dict[str, float]:
    """Evaluations/s in batches of 256 on this machine: `cpu` (PyTorch in float32, all cores), `gpu` if
    there is one."""
    rows = sample_positions(256, network.encode)
    threads = os.cpu_count() or 1
    found = {"cpu": evaluations_per_second(TorchEvaluator(network), rows, threads, seconds)}
    if torch.cuda.is_available():
        found["gpu"] = evaluations_per_second(TorchEvaluator(network, "cuda"), rows, 1, seconds)
    return found


def frequent_moves(data: RowsDataModule, split: Split) -> dict[str, float]:
    """How often the move played most in the training games is right, where they hold the position.

    Returns:
        `seen`: share of the rows whose position the training side holds; `most_frequent_seen`: share right
        among those; `most_frequent`: share right of all rows, where others get a random legal move.
    """
    keys, labels = _most_frequent(data)
    seen = right = guessed = rows = 0.0
    for block in data.blocks(split):
        own = position_keys(block.board, block.jumper)
        known = is_in(own, keys)
        at = np.searchsorted(keys, own[known])
        right += float((labels[at] == block.label[known]).sum())
        seen += float(known.sum())
        guessed += float((1 / block.legal_mask()[~known].sum(1)).sum())
        rows += len(block)
    return {
        "seen": seen / max(rows, 1),
        "most_frequent_seen": right / max(seen, 1),
        "most_frequent": (right + guessed) / max(rows, 1),
    }


def _most_frequent(data: RowsDataModule) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """Sorted keys of the training side's positions, and the label played most in each, the lowest of
    several."""
    blocks = [(position_keys(b.board, b.jumper), b.label) for b in data.blocks("train")]
    if not blocks:
        return np.empty(0, np.uint64), np.empty(0, np.uint8)
    keys, inverse = np.unique(np.concatenate([k for k, _ in blocks]), return_inverse=True)
    cells, counts = np.unique(
        inverse * NUM_ACTIONS + np.concatenate([label for _, label in blocks]), return_counts=True
    )
    order = np.lexsort((cells, -counts, cells // NUM_ACTIONS))
    first = np.unique(cells[order] // NUM_ACTIONS, return_index=True)[1]
    return keys, (cells[order][first] % NUM_ACTIONS).astype(np.uint8)
