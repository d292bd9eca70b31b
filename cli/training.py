"""What training and measuring show to people; progress on standard error, tables as text."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from ckai.models.training import Progress

_LABELS = [
    ("rows", "rows"),
    ("top1", "move played is first"),
    ("top2", "  among the first 2"),
    ("top3", "  among the first 3"),
    ("top5", "  among the first 5"),
    ("top1_legal", "first among legal moves"),
    ("top5_legal", "  among the first 5"),
    ("top1_unforced", "first, where there is a choice"),
    ("top1_unseen", "first, position never trained on"),
    ("top1_legal_unseen", "  among legal moves"),
    ("random_legal", "a random legal move is right"),
    ("forced", "rows with one legal move"),
    ("unseen", "rows never trained on"),
    ("illegal_top1", "first move is illegal"),
    ("illegal_probability", "probability on illegal moves"),
    ("policy_loss", "policy loss"),
    ("policy_loss_legal", "  among legal moves"),
    ("value_mse", "value, squared error"),
    ("value_mse_constant", "  of the best constant"),
    ("value_sign", "winner named by the value's sign"),
]


def metrics_table(metrics: Mapping[str, Any], title: str) -> str:
    """The metrics as lines of text."""
    lines = [title]
    for name, label in _LABELS:
        if name in metrics:
            value = metrics[name]
            share = "loss" not in name and "mse" not in name
            text = f"{value:,}" if isinstance(value, int) else f"{value:.1%}" if share else f"{value:.4f}"
            lines.append(f"  {label:<36}{text:>9}")
    return "\n".join(lines)


class TrainingBar:
    """A progress bar on standard error while a training runs; only lines where that is no terminal."""

    def __init__(self) -> None:
        self.console = Console(file=sys.stderr)
        self._bar = Bar(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[detail]}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task: Any = None

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """A line above the bar."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def show(self, progress: "Progress") -> None:
        """Where the training is."""
        total = progress.epochs * progress.batches
        if self._task is None:
            self._task = self._bar.add_task("", total=total, epoch="", detail="")
        detail = f"{progress.rows_per_second:,.0f} rows/s"
        if progress.report.get("train_policy_loss"):
            report = progress.report
            detail += f"  loss {report['train_policy_loss']:.3f}  top-1 {report['train_top1']:.1%}"
        self._bar.update(
            self._task,
            completed=progress.epoch * progress.batches + progress.batch,
            epoch=f"{progress.epoch + 1}/{progress.epochs}",
            detail=detail,
        )
