"""The run folder of a training and its output: what may be replaced or removed, and which settings differ."""

import json
import shutil
from pathlib import Path
from typing import Any

from ckai.datasets.files import make_parent
from ckai.models.checkpoint import CheckpointError, load_checkpoint
from ckai.models.training.runs import REPLACES
from ckai.models.training.trainer import TrainingError

_WRITTEN = (
    "config.json",
    REPLACES,
    "last.ckpt",
    "metrics.csv",
    "curves.png",
    "filters.png",
    "tensorboard",
)
"""What a training writes into its run folder, and a new one removes from it."""


def run_folder(output: Path) -> Path:
    """The run folder of a training with this output."""
    return output.with_suffix(".run")


def check_output(output: Path) -> None:
    """Check the output before the training, not after it.

    Raises:
        TrainingError: its name does not end in .ckpt, or it is a file that is no checkpoint.
        WriteError: it cannot be written.
    """
    if output.suffix != ".ckpt":
        raise TrainingError(f"{output}: expected a name that ends in .ckpt: the run folder is named after it")
    make_parent(output)
    if output.exists():
        try:
            load_checkpoint(output)
        except CheckpointError as error:
            raise TrainingError(
                f"{error}; use -o OTHER, or remove it: only checkpoints are replaced"
            ) from error


def clear(run: Path) -> None:
    """Remove an earlier training from the run folder; other files stay."""
    for path in (run / name for name in _WRITTEN):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def with_defaults(before: Any, defaults: dict[str, Any]) -> Any:
    """Settings of an earlier version, with the defaults of those that have come since."""
    if not isinstance(before, dict):
        return before
    known = {key: value for key, value in before.items() if isinstance(defaults.get(key), dict)}
    inner = {key: with_defaults(value, defaults[key]) for key, value in known.items()}
    return {**json.loads(json.dumps(defaults)), **before, **inner}


def differences(before: Any, now: Any, name: str = "") -> list[str]:
    """Settings that differ, as `train.epochs: 8, now 3`; data sets are compared by content."""
    if isinstance(before, dict) and isinstance(now, dict) and name != "data":
        found = []
        for key in [*before, *(k for k in now if k not in before)]:
            inner = f"{name}.{key}" if name else key
            found += differences(before.get(key), now.get(key), inner)
        return found
    if name == "data":
        fingerprints = [[file["fingerprint"] for file in files] for files in (before or [], now)]
        if fingerprints[0] == fingerprints[1]:
            return []
        texts = [
            ", ".join(f"{f['path']} with {f['rows']} rows" for f in files) for files in (before or [], now)
        ]
        return [f"data: {texts[0]}, now {texts[1]}"]
    return [] if before == now else [f"{name}: {before}, now {now}"]
