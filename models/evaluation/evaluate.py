"""Evaluate a checkpoint on rows: `ckai evaluate` as a function."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.schema import DatasetError
from ckai.datasets.split import Split
from ckai.models.checkpoint import Checkpoint
from ckai.models.evaluation.data_splits import MOST_GAMES, known, learned_games
from ckai.models.evaluation.metrics import measure
from ckai.models.inference.devices import pick_device


@dataclass(frozen=True)
class Evaluation:
    """The metrics of a checkpoint, and the rows they were computed on."""

    metrics: dict[str, Any]
    """See `ckai.models.evaluation.metrics`."""
    by_ply: list[dict[str, Any]]
    """See `Metrics.by_ply`."""
    parameters: int
    split: Split
    split_seed: int
    heldout: float
    """Share of the games held out with that seed."""
    other_data: bool
    """Whether the network was trained on none of the games."""
    learned: int | None
    """Games of that side that the network is known to have learned; None if the checkpoint does not say."""


def evaluate_checkpoint(
    checkpoint: Checkpoint,
    paths: Sequence[str | Path],
    *,
    split: Split | None = None,
) -> Evaluation:
    """Evaluate a checkpoint on the rows of games.

    If the network was trained on none of them, nothing is said of unseen positions.

    Args:
        checkpoint: the network, of any game, and how its training data were split.
        paths: row files of the same game.
        split: "heldout", "train" or "all" games; None: "heldout", or "all" if the network was trained on none
            of them. They are split as in the checkpoint's training.

    Raises:
        DatasetError: data that cannot be used, or no rows on that side.
        CheckpointError: weights that do not fit the architecture.

    Examples:
        >>> from ckai.models import load_checkpoint
        >>> result = evaluate_checkpoint(load_checkpoint("network.ckpt"), ["games.parquet"], split="all")
        >>> result.metrics["rows"], result.metrics["value_rows"]
        (11, 11)
    """
    network = checkpoint.network()
    stored = checkpoint.info.get("split", {})
    seed, share = int(stored.get("seed", 0)), float(stored.get("heldout", 0.1))
    data = RowsDataModule(
        paths, heldout=share, split_seed=seed, need_both_sides=False, game=network.encode.GAME
    )
    sides = {"train": data.train_games, "heldout": data.heldout_games}
    sides["all"] = np.union1d(*sides.values())
    learned = learned_games(checkpoint.info)
    other_data = learned is not None and len(learned) < MOST_GAMES and not known(sides["all"], learned)
    if split is None:
        split = "all" if other_data else "heldout"
    if split == "heldout" and not data.heldout_rows:
        all_games = "" if share or not stored else ": the network was trained on all games"
        raise DatasetError(
            f"expected held-out games, found none with a share of {share:g}{all_games}; try --split all"
        )
    device = pick_device()
    data.prepare(network.encode)
    seen = None if other_data else data.train_positions()
    measured = measure(network.to(device), data.batches(split), seen=seen, device=device)
    metrics = measured.report()
    if not metrics["rows"]:
        raise DatasetError(f"expected rows on the side {split!r}, found none")
    return Evaluation(
        metrics,
        measured.by_ply(),
        sum(p.numel() for p in network.parameters()),
        split,
        seed,
        share,
        other_data,
        None if learned is None else known(sides[split], learned),
    )
