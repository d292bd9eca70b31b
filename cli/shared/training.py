"""What training and measuring show to people; progress on standard error, tables as text."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from ckai.models.training.trainer import TrainingProgress

_LABELS = [
    ("rows", "rows"),
    ("top1", "move played is first"),
    ("top2", "  among the first 2"),
    ("top3", "  among the first 3"),
    ("top5", "  among the first 5"),
    ("top1_legal", "first among legal moves"),
    ("top2_legal", "  among the first 2"),
    ("top3_legal", "  among the first 3"),
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
    ("policy_calibration_error", "first legal move's chance, error"),
    ("value_mse", "value, squared error"),
    ("value_mse_constant", "  of the best constant"),
    ("value_sign", "winner named by the value's sign"),
    ("value_auc", "won above lost, of all pairs"),
    ("value_calibration_error", "value, distance from mean result"),
]


def metrics_table(metrics: Mapping[str, Any], title: str) -> str:
    """The metrics as lines of text."""
    lines = [title]
    for name, label in _LABELS:
        if name in metrics:
            value = metrics[name]
            share = not any(word in name for word in ("loss", "mse", "error"))
            text = f"{value:,}" if isinstance(value, int) else f"{value:.1%}" if share else f"{value:.4f}"
            lines.append(f"  {label:<36}{text:>9}")
    return "\n".join(lines)


def groups_table(groups: Sequence[Mapping[str, Any]], what: str) -> str:
    """A line a group of rows: by phase of the game, or by pieces."""
    columns = [
        ("top1_legal", "first"),
        ("top5_legal", "in 5"),
        ("top1_unforced", "choice"),
        ("random_legal", "random"),
        ("value_mse", "value"),
        ("value_auc", "sorted"),
    ]
    lines = [f"  {what:<10}{'rows':>9}" + "".join(f"{title:>9}" for _, title in columns)]
    for group in groups:
        line = f"  {group['from']:>3}-{group['to']:<6}{group['rows']:>9,}"
        for name, _ in columns:
            value = group.get(name)
            text = "" if value is None else f"{value:.3f}" if name == "value_mse" else f"{value:.1%}"
            line += f"{text:>9}"
        lines.append(line)
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

    def show(self, progress: "TrainingProgress") -> None:
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
