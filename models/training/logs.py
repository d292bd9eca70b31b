"""Logs of a training: CSV, TensorBoard and a plot, all made from its history.

A history is a list of one dict an epoch, see `ckai.models.training.trainer`. Files are rewritten each epoch,
so a resumed training neither loses nor repeats a line.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ckai.datasets.files import whole_file, write_whole

Row = Mapping[str, Any]


def write_csv(path: Path, history: Sequence[Row]) -> None:
    """Write a history as CSV: a header, and one line an epoch."""
    names = list(dict.fromkeys(name for row in history for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, restval="")
    writer.writeheader()
    writer.writerows(history)
    write_whole(path, text.getvalue())


def tensorboard_writer(folder: Path, history: Sequence[Row]) -> Any | None:
    """A TensorBoard writer that starts with `history`; None if TensorBoard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    writer = SummaryWriter(str(folder), purge_step=0)  # type: ignore[no-untyped-call]
    for row in history:
        write_tensorboard(writer, row)
    return writer


def write_tensorboard(writer: Any, row: Row) -> None:
    """Write the metrics of one epoch."""
    for name, value in row.items():
        side, _, rest = name.partition("_")
        tag = f"{rest}/{side}" if side in ("train", "heldout") else name
        if name != "epoch" and not isinstance(value, str):
            writer.add_scalar(tag, value, int(row["epoch"]))
    writer.flush()


def plot_curves(path: Path, history: Sequence[Row], title: str) -> None:
    """Plot losses, accuracy and the value's squared error over the epochs, as a PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    panels = [
        ("policy loss", {"train_policy_loss": "training", "heldout_policy_loss": "held out"}),
        (
            "accuracy",
            {
                "train_top1": "training, top-1",
                "heldout_top1": "held out, top-1",
                "heldout_top1_legal": "held out, top-1 legal",
                "heldout_top5": "held out, top-5",
            },
        ),
        (
            "value, squared error",
            {
                "train_value_loss": "training",
                "heldout_value_mse": "held out",
                "heldout_value_mse_constant": "held out, best constant",
            },
        ),
    ]
    figure = Figure(figsize=(13, 4), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (name, lines) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        for key, label in lines.items():
            points = [(row["epoch"], row[key]) for row in history if key in row]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=label)
        for begin, stage in _stages(history):
            axes.axvline(begin - 0.5, color="grey", linestyle=":", linewidth=1)
            axes.annotate(
                stage,
                (begin - 0.4, 1),
                xycoords=("data", "axes fraction"),
                va="bottom",
                fontsize=7,
                color="grey",
            )
        axes.set_xlabel("epoch")
        axes.set_title(name, pad=14 if _stages(history) else None)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        if axes.lines:
            axes.legend()
    figure.suptitle(title)
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=110)


def _stages(history: Sequence[Row]) -> list[tuple[float, str]]:
    """(first epoch, name) of each stage, if there are several."""
    begins: dict[str, float] = {}
    for row in history:
        if "stage" in row:
            begins.setdefault(row["stage"], row["epoch"])
    return [(epoch, stage) for stage, epoch in begins.items()]
