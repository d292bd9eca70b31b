"""The metrics of a run as CSV, PNG and TensorBoard log, rewritten from the generations' measurements."""

import csv
import io
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ckai.datasets.files import rename, save_figure, temporary_path, write_whole
from ckai.rl.run.report import elo_curve

COLUMNS = {
    "generation": ("generation",),
    "games": ("selfplay", "games"),
    "rows": ("selfplay", "rows"),
    "plies_mean": ("selfplay", "plies_mean"),
    "black_won": ("selfplay", "black_won"),
    "drawn": ("selfplay", "drawn"),
    "white_won": ("selfplay", "white_won"),
    "unknown": ("selfplay", "unknown"),
    "adjudicated": ("selfplay", "adjudicated"),
    "q_z_mse": ("selfplay", "q_z_mse"),
    "selfplay_seconds": ("selfplay", "seconds"),
    "evaluations_per_second": ("selfplay", "evaluations_per_second"),
    "train_policy_loss": ("learn", "train_policy_loss"),
    "train_value_loss": ("learn", "train_value_loss"),
    "heldout_training_policy_loss": ("learn", "heldout_training_policy_loss"),
    "heldout_training_value_loss": ("learn", "heldout_training_value_loss"),
    "heldout_policy_loss": ("learn", "heldout_policy_loss_legal"),
    "heldout_value_mse": ("learn", "heldout_value_mse"),
    "value_calibration_error": ("learn", "heldout_value_calibration_error"),
    "learn_seconds": ("learn", "seconds"),
    "match_games": ("match", "games"),
    "match_wins": ("match", "wins"),
    "match_draws": ("match", "draws"),
    "match_losses": ("match", "losses"),
    "match_score": ("match", "score"),
    "match_elo": ("match", "elo"),
    "elo": ("elo",),
    "accepted": ("accepted",),
}
"""Column of the CSV -> keys in a generation's measurements; for elo see `elo_curve`.

`train_*` and `heldout_training_*` are the same losses, against the visits and the blend of z and q.
`heldout_policy_loss` is against the action played, over the legal ones, and `heldout_value_mse` against z.
"""

LOSSES = {
    "policy, training": "train_policy_loss",
    "policy, held out": "heldout_training_policy_loss",
    "policy against the action played, held out": "heldout_policy_loss",
    "value, training": "train_value_loss",
    "value, held out": "heldout_training_value_loss",
    "value against the result, held out": "heldout_value_mse",
}
"""Columns of losses by their names in plots: three cross-entropies, three squared errors."""

WORKER_COLUMNS = {
    "workers": ("selfplay", "workers", "count"),
    "worker_games": ("selfplay", "workers", "games"),
    "shards_refused": ("selfplay", "workers", "refused"),
    "learner_waited": ("selfplay", "learner_waited"),
}
"""More columns, in a run for which other processes have played."""


def flatten(measured: dict[str, Any]) -> dict[str, Any]:
    """Return a generation as a row of the CSV; missing measurements are None."""
    row = {}
    for column, keys in (COLUMNS | WORKER_COLUMNS).items():
        value: Any = measured
        for part in keys:
            value = value.get(part) if isinstance(value, dict) else None
        row[column] = value
    return row


def metrics(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each generation, see `flatten`, with the Elo curve."""
    return [
        flatten(measured | {"elo": round(elo, 1)})
        for measured, elo in zip(history, elo_curve(history), strict=True)
    ]


def write_dashboard(folder: Path, history: list[dict[str, Any]]) -> None:
    """Write metrics.csv, metrics.png and, if TensorBoard is installed, the tensorboard/ log of a run.

    Args:
        folder: folder of the run.
        history: measurements by generation.
    """
    rows = metrics(history)
    worked = any(row["workers"] is not None for row in rows)
    columns = COLUMNS | WORKER_COLUMNS if worked else COLUMNS
    text = io.StringIO()
    writer = csv.DictWriter(text, list(columns), lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder / "metrics.csv", text.getvalue())
    _plot(folder / "metrics.png", rows)
    _tensorboard(folder / "tensorboard", rows)


def _plot(path: Path, rows: list[dict[str, Any]]) -> None:
    from matplotlib.figure import Figure  # not pyplot: needs no display and keeps no global state

    x = [row["generation"] for row in rows]
    figure = Figure(figsize=(15, 7), layout="constrained")
    axes = figure.subplots(2, 3)

    def line(axis: Any, column: str, label: str, **style: Any) -> None:
        points = [(g, row[column]) for g, row in zip(x, rows, strict=True) if row[column] is not None]
        if points:
            axis.plot(*zip(*points, strict=True), marker="o", label=label, **style)

    match, curve, losses, results, length, calibration = axes.flat
    line(match, "match_score", "new against old")
    match.axhline(0.5, color="grey", linewidth=0.8)
    match.set(title="Match of each new network", ylabel="share of the points", ylim=(0, 1))
    for g, row in zip(x, rows, strict=True):
        if not row["accepted"] and row["match_score"] is not None:
            match.annotate(
                "refused", (g, row["match_score"]), textcoords="offset points", xytext=(0, -14), ha="center"
            )
    curve.axhline(0, color="grey", linewidth=0.8)
    if any(row["match_score"] is not None for row in rows):
        line(curve, "elo", "sum of the matches")
    else:
        for axis in (match, curve):
            axis.text(0.5, 0.6, "no matches", ha="center", transform=axis.transAxes)
            axis.set_xlim(min(x) - 0.5, max(x) + 0.5)
    curve.set(title="Elo above the first network", ylabel="Elo, sum of the matches")
    for (label, column), style in zip(LOSSES.items(), 2 * ("-", "--", ":"), strict=True):
        line(losses, column, label, linestyle=style)
    losses.set(title="Losses", ylabel="cross-entropy; squared error")
    bottom = [0.0] * len(rows)
    for column, label, colour in (
        ("black_won", "Black won", "#333333"), ("drawn", "drawn", "#9a9a9a"),
        ("white_won", "White won", "#e8dcc4"), ("unknown", "stopped", "#c44e52"),
    ):  # fmt: skip
        share = [(row[column] or 0) / row["games"] for row in rows]
        results.bar(x, share, bottom=bottom, label=label, color=colour, edgecolor="black", linewidth=0.4)
        bottom = [a + b for a, b in zip(bottom, share, strict=True)]
    results.set(title="Results of self-play", ylabel="share of the games", ylim=(0, 1))
    line(length, "plies_mean", "plies")
    length.set(title="Length of a game", ylabel="plies, mean")
    line(calibration, "value_calibration_error", "held-out rows")
    calibration.set(title="Calibration of the value", ylabel="distance from the mean result", ylim=(0, None))
    for axis in axes.flat:
        axis.set_xlabel("generation")
        axis.xaxis.get_major_locator().set_params(integer=True)
    for axis in (losses, results):  # below them: within, the best place takes seconds to find in a long run
        axis.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.19), ncols=2)
    save_figure(path, figure, dpi=110)


def _tensorboard(folder: Path, rows: list[dict[str, Any]]) -> None:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # an optional extra
        return
    fresh = temporary_path(folder)
    writer = SummaryWriter(str(fresh))  # type: ignore[no-untyped-call]
    for row in rows:
        for column, value in row.items():
            if column != "generation" and value is not None:
                writer.add_scalar(column, float(value), row["generation"])  # type: ignore[no-untyped-call]
    writer.close()  # type: ignore[no-untyped-call]
    old = temporary_path(folder)  # renamed first: a folder with files that others have open may not empty
    try:
        with suppress(FileNotFoundError):
            rename(folder, old)
        rename(fresh, folder)
    except PermissionError:  # Windows, while TensorBoard reads the old one: the next generation has all of it
        shutil.rmtree(fresh, ignore_errors=True)
    shutil.rmtree(old, ignore_errors=True)
