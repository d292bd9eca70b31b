"""Output of training and evaluation: progress on standard error, metrics as text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from ckai.cli.shared.output import ProgressLines, stderr_console

if TYPE_CHECKING:
    from ckai.models.training.trainer import TrainingProgress

_LABELS = [
    ("rows", "rows"),
    ("top1", "top-1 accuracy"),
    ("top2", "  top-2"),
    ("top3", "  top-3"),
    ("top5", "  top-5"),
    ("top1_legal", "top-1 among legal moves"),
    ("top2_legal", "  top-2"),
    ("top3_legal", "  top-3"),
    ("top5_legal", "  top-5"),
    ("top1_unforced", "top-1 where there is a choice"),
    ("top1_unseen", "top-1 in unseen positions"),
    ("top1_legal_unseen", "  among legal moves"),
    ("random_legal", "accuracy of a random legal move"),
    ("forced", "rows with one legal move"),
    ("unseen", "rows with unseen positions"),
    ("illegal_top1", "top move is illegal"),
    ("illegal_probability", "probability on illegal moves"),
    ("policy_loss", "policy loss"),
    ("policy_loss_legal", "  among legal moves"),
    ("policy_calibration_error", "policy calibration error"),
    ("value_mse", "value, mean squared error"),
    ("value_mse_constant", "  of the best constant"),
    ("value_sign", "value has the winner's sign"),
    ("value_auc", "AUC of won against lost"),
    ("value_calibration_error", "value calibration error"),
]


def metrics_table(metrics: Mapping[str, Any], title: str) -> str:
    """Format metrics as lines of text.

    Args:
        metrics: by name; unknown names are left out.
        title: the first line.
    """
    lines = [title]
    for name, label in _LABELS:
        if name in metrics:
            value = metrics[name]
            share = not any(word in name for word in ("loss", "mse", "error"))
            text = f"{value:,}" if isinstance(value, int) else f"{value:.1%}" if share else f"{value:.4f}"
            lines.append(f"  {label:<36}{text:>9}")
    return "\n".join(lines)


def phases_table(groups: Sequence[Mapping[str, Any]]) -> str:
    """Format the metrics of phases, each with the plies `from` and `to` of its range, one per line."""
    columns = [
        ("top1_legal", "top-1"),
        ("top5_legal", "top-5"),
        ("top1_unforced", "choice"),
        ("random_legal", "random"),
        ("value_mse", "value"),
        ("value_auc", "AUC"),
    ]
    lines = [f"  {'plies':<10}{'rows':>9}" + "".join(f"{title:>9}" for _, title in columns)]
    for group in groups:
        line = f"  {group['from']:>3}-{group['to']:<6}{group['rows']:>9,}"
        for name, _ in columns:
            value = group.get(name)
            text = "" if value is None else f"{value:.3f}" if name == "value_mse" else f"{value:.1%}"
            line += f"{text:>9}"
        lines.append(line)
    return "\n".join(lines)


class TrainingBar:
    """A progress bar of a training on standard error; lines of text if that is not a terminal."""

    def __init__(self) -> None:
        self.console = stderr_console()
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
        self._lines = ProgressLines(self.console)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def message(self, text: str) -> None:
        """Print a line above the bar."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def update(self, progress: "TrainingProgress") -> None:
        """Update the bar."""
        total = progress.epochs * progress.batches
        if self._task is None:
            self._task = self._bar.add_task("", total=total, epoch="", detail="")
        detail = f"{progress.rows_per_second:,.0f} rows/s"
        if progress.report.get("train_policy_loss"):
            report = progress.report
            detail += f"  loss {report['train_policy_loss']:.3f}  top-1 {report['train_top1']:.1%}"
        done = progress.epoch * progress.batches + progress.batch
        epoch = f"{progress.epoch + 1}/{progress.epochs}"
        self._bar.update(self._task, completed=done, epoch=epoch, detail=detail)
        batches = f"batch {progress.batch:,} of {progress.batches:,}"
        self._lines.update(done, total, f"epoch {epoch}, {batches}, {detail}")
