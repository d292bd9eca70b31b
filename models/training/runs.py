"""Compare the training runs under a folder: their settings and their results."""

import csv
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckai.datasets.files import is_locked
from ckai.models.training.config import PretrainConfig

LAST = "last.ckpt"
"""Name of the file in a run folder with the state of an unfinished training."""
BEST = "best.ckpt"
"""Name of the file with its state after the best epoch so far."""
LOCK = ".lock"
"""Name of the lock file in a run folder."""


@dataclass(frozen=True)
class TrainingRun:
    """One training run, finished or not."""

    path: Path
    """The run folder."""
    model: str
    changed: dict[str, Any]
    """Settings that differ from the defaults, by dotted name."""
    epochs: int
    """Epochs done."""
    target: int
    """Epochs requested; 0 if unknown."""
    finished: bool
    """Whether its checkpoint is the result of this training."""
    running: bool
    """Whether a process is training it now."""
    seconds: float
    history: list[dict[str, float]]

    @property
    def status(self) -> str:
        """`running`, `finished` or `unfinished`."""
        return "running" if self.running else "finished" if self.finished else "unfinished"

    @property
    def best(self) -> dict[str, float]:
        """The epoch that training keeps: the one with the lowest held-out policy loss, or the last one."""
        key = "heldout_policy_loss_legal" if self.changed.get("mask_illegal") else "heldout_policy_loss"
        measured = [row for row in self.history if math.isfinite(row.get(key, math.nan))]
        if measured:
            return min(measured, key=lambda row: row[key])
        return self.history[-1] if self.history else {}


def find_runs(folder: Path) -> list[TrainingRun]:
    """All training runs under a folder, by name; other folders are skipped."""
    runs = []
    for config in sorted(folder.rglob("*.run/config.json")):
        run = read_run(config.parent)
        if run is not None:
            runs.append(run)
    return runs


def read_run(folder: Path) -> TrainingRun | None:
    """Return the training run of a folder; None if the folder is not one, or cannot be read."""
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        model, changed = config["model"], _differences(config)
        epochs = int(config.get("train", {}).get("epochs", 0))
        history = _history(folder / "metrics.csv")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # of another program
        return None
    last = history[-1] if history else {}
    return TrainingRun(
        path=folder,
        model=str(model),
        changed=changed,
        epochs=len(history),
        target=epochs,
        finished=bool(last) and folder.with_suffix(".ckpt").exists() and not (folder / LAST).exists(),
        running=is_locked(folder / LOCK),
        seconds=last.get("seconds", 0.0),
        history=history,
    )


def _history(path: Path) -> list[dict[str, Any]]:
    """The epochs so far; none during the first."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return [_numbers(row) for row in csv.DictReader(file)]
    except FileNotFoundError:
        return []


def _numbers(row: dict[str, str]) -> dict[str, Any]:
    return {name: float(text) for name, text in row.items() if text}


def _differences(config: dict[str, Any]) -> dict[str, Any]:
    """Settings that differ from the defaults; the network's own have no prefix."""
    default = flat_settings(json.loads(json.dumps(asdict(PretrainConfig()))))
    changed = {
        name.rsplit(".", 1)[-1]: value
        for name, value in flat_settings({k: v for k, v in config.items() if k not in _LEFT_OUT}).items()
        if default.get(name) != value
    }
    return {**changed, **_given(config)}


_LEFT_OUT = {"model", "settings", "data", "fingerprints", "encoding", "init_digest"}


def _given(config: dict[str, Any]) -> dict[str, Any]:
    """The network's settings that differ from its defaults."""
    from ckai.models.registry import ModelError, build

    try:
        own = asdict(build(config["model"]).settings)
    except ModelError:
        return dict(config.get("settings", {}))
    return {k: v for k, v in config.get("settings", {}).items() if own.get(k) != v}


def flat_settings(tree: dict[str, Any], name: str = "") -> dict[str, Any]:
    """Nested settings as one dict with dotted names."""
    flat: dict[str, Any] = {}
    for key, value in tree.items():
        inner = f"{name}.{key}" if name else key
        flat |= flat_settings(value, inner) if isinstance(value, dict) else {inner: value}
    return flat
