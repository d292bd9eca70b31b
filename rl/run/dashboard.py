"""The metrics of a run as CSV, PNG and TensorBoard log."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ckai.datasets.files import write_whole
from ckai.models.training.runs import plot_panels
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
    "workers": ("selfplay", "workers", "count"),
    "worker_games": ("selfplay", "workers", "games"),
    "shards_refused": ("selfplay", "workers", "refused"),
    "learner_waited": ("selfplay", "learner_waited"),
}
"""Column of the CSV -> keys in a generation's measurements; for elo see `elo_curve`.

`train_*` and `heldout_training_*` are the same losses, against the visits and the blend of z and q.
`heldout_policy_loss` is against the action played, over the legal ones, and `heldout_value_mse` against z.
Of other processes that have played are the number, their games, and the shards that were left out.
"""

LOSSES = {
    "train_policy_loss": "policy, training",
    "heldout_training_policy_loss": "policy, held out",
    "heldout_policy_loss": "policy against the action played, held out",
    "train_value_loss": "value, training",
    "heldout_training_value_loss": "value, held out",
    "heldout_value_mse": "value against the result, held out",
}
"""Columns of losses, with their names in plots: three cross-entropies, three squared errors."""
PANELS = {
    "Match of each new network: points": {"match_score": "new against old"},
    "Elo above the first network": {"elo": "sum of the matches"},
    "Losses: cross-entropy, squared error": LOSSES,
    "Results of self-play: games": {
        "black_won": "Black won",
        "drawn": "drawn",
        "white_won": "White won",
        "unknown": "stopped",
    },
    "Length of a game: plies": {"plies_mean": "mean"},
    "Calibration of the value": {"value_calibration_error": "distance from the mean result"},
}
"""Plots of a run: of each, by its title, the columns that it shows, with their labels."""


def flatten(measured: dict[str, Any]) -> dict[str, Any]:
    """Return a generation as a row of the CSV; missing measurements are None."""
    row = {}
    for column, keys in COLUMNS.items():
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
    """Write metrics.csv and metrics.png; add to the tensorboard/ log, if TensorBoard is installed."""
    import pandas as pd  # takes half a second, which reading runs does without

    rows = metrics(history)
    table = pd.DataFrame(rows, columns=list(COLUMNS), dtype=object)
    write_whole(folder / "metrics.csv", table.to_csv(index=False, lineterminator="\n"))
    plot_panels(folder / "metrics.png", PANELS, "generation", rows)
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:  # an optional extra
        return
    # TensorBoard forgets what it has of a step that is written again, as after a kill.
    writer = SummaryWriter(str(folder / "tensorboard"), purge_step=len(rows))  # type: ignore[no-untyped-call]
    for column, value in rows[-1].items():
        if column != "generation" and value is not None:
            writer.add_scalar(column, float(value), len(rows))  # type: ignore[no-untyped-call]
    writer.close()  # type: ignore[no-untyped-call]
