"""Compare the training runs under a folder: their settings and their results."""

import csv
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckai.datasets.files import is_locked

CONFIG, LAST, BEST, METRICS, LOCK = "config.json", "last.ckpt", "best.ckpt", "metrics.csv", ".lock"
"""Names of files in a run folder, see `ckai.models.training.pretrain`."""


@dataclass(frozen=True)
class TrainingRun:
    """One training run, finished or not: its folder, and its history as `fit` returns it."""

    path: Path
    model: str
    changed: dict[str, Any]
    """Settings that differ from the defaults, by name."""
    target: int
    """Epochs requested."""
    status: str
    """`running`: a process trains it now; `finished`: its checkpoint is there; or `unfinished`."""
    history: list[dict[str, float]]

    @property
    def best(self) -> dict[str, float]:
        """The epoch that training keeps; empty if there is none yet."""
        legal = "_legal" if self.changed.get("mask_illegal") else ""
        return best_epoch(self.history, f"heldout_policy_loss{legal}") if self.history else {}


def best_epoch(history: Sequence[dict[str, float]], loss: str) -> dict[str, float]:
    """The first epoch with the lowest loss of this name, or the last one if none has it."""
    measured = [row for row in history if math.isfinite(row.get(loss, math.nan))]
    return min(measured, key=lambda row: row[loss]) if measured else history[-1]


def find_runs(folder: Path) -> list[TrainingRun]:
    """All training runs under a folder, by name; other folders are skipped."""
    runs = (read_run(config.parent) for config in sorted(folder.rglob(f"*.run/{CONFIG}")))
    return [run for run in runs if run is not None]


def read_run(folder: Path) -> TrainingRun | None:
    """Return the training run of a folder; None if the folder is not one, or cannot be read."""
    history: list[dict[str, float]] = []
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if (folder / METRICS).exists():  # not in the first epoch
            rows = csv.DictReader((folder / METRICS).read_text(encoding="utf-8").splitlines())
            history = [{name: float(x) for name, x in row.items() if x} for row in rows]
        model, changed, target = str(config["model"]), dict(config["changed"]), config["train"]["epochs"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # of another program
        return None
    done = history and folder.with_suffix(".ckpt").exists() and not (folder / LAST).exists()
    status = "running" if is_locked(folder / LOCK) else "finished" if done else "unfinished"
    return TrainingRun(folder, model, changed, int(target), status, history)
