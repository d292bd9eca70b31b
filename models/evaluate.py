"""Measuring a checkpoint on rows: `ckai evaluate` without the command."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.schema import DatasetError
from ckai.datasets.split import Split
from ckai.models.checkpoint import Checkpoint
from ckai.models.metrics import measure
from ckai.models.training import pick_device

DEFAULT_SEED, DEFAULT_HELDOUT = 0, 0.1


@dataclass(frozen=True)
class Evaluation:
    """What was measured and on which rows."""

    metrics: dict[str, Any]
    """See `ckai.models.metrics`."""
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
    metrics = measure(network.to(device), data.batches(split), seen=data.train_positions(), device=device)
    if not metrics["rows"]:
        raise DatasetError(f"expected rows on the side {split!r}, found none")
    return Evaluation(metrics, split, seed, share)
