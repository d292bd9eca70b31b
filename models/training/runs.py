"""The folders of trainings: what is in them, read, said in a line, and plotted; needs no PyTorch."""

import csv
import json
import math
from collections.abc import Mapping, Sequence
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


def describe_epoch(row: Mapping[str, float], epochs: int, *, legal: bool = False) -> str:
    """One line about an epoch of a history; `legal`: with the metrics over the legal actions."""
    which = "_legal" if legal else ""
    text = f"epoch {int(row['epoch'])}/{epochs}: policy loss {row['train_policy_loss']:.3f}"
    if "heldout_policy_loss" in row:
        text += f", held out {row['heldout_training_policy_loss']:.3f}"
        text += f", top-1 {row['heldout_top1' + which]:.1%}, top-5 {row['heldout_top5' + which]:.1%}"
        if "heldout_value_mse" in row:
            text += f", value error {row['heldout_value_mse']:.3f}"
    return f"{text} ({row['seconds']:.0f} s)"


PANELS: dict[str, dict[str, str]] = {
    "policy loss": {
        "train_policy_loss": "training",
        "heldout_training_policy_loss": "held out",
        "heldout_policy_loss": "held out, of the action played",
    },
    "accuracy": {
        "train_top1": "training, top-1",
        "heldout_top1": "held out, top-1",
        "heldout_top1_legal": "held out, top-1 legal",
        "heldout_top5": "held out, top-5",
    },
    "value loss": {"train_value_loss": "training", "heldout_training_value_loss": "held out"},
    "value against the result, squared error": {
        "heldout_value_mse": "held out",
        "heldout_value_mse_constant": "held out, best constant",
    },
}
"""Panels of the plot of training, and the columns that they show with their labels. Lines called training and
held out are of the same quantity; the others say what they are of."""
