"""The run folder of a training and its output: what may be written over, and what is removed."""

import shutil
from pathlib import Path

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
        TrainingError: it is the run folder's name, or a file that is no checkpoint.
        WriteError: it cannot be written.
    """
    if output == run_folder(output):
        raise TrainingError(f"{output}: expected another suffix than .run, which the run folder has")
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
