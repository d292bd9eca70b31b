"""What the generations of a run say: Elo, the best network, opponents; the metrics as CSV, plots and a log.

For `history`, the measurements of the finished generations, see `Run.history`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.files import plot_panels, write_whole
from ckai.datasets.split import seed_stream
from ckai.rl.matches.elo import PairScores, ratings
from ckai.rl.selfplay.config import PoolConfig

NOISE = 10.0
"""Elo that the match of a generation cannot tell from nothing: of equals the newest network is the best."""

STAGES = ("selfplay", "learn", "match")
"""What a generation measures, and what takes its time."""
COLUMNS = {
    "generation": "generation",
    "games": "selfplay.games",
    "rows": "selfplay.rows",
    "plies_mean": "selfplay.plies_mean",
    "black_won": "selfplay.black_won",
    "drawn": "selfplay.drawn",
    "white_won": "selfplay.white_won",
    "unknown": "selfplay.unknown",
    "adjudicated": "selfplay.adjudicated",
    "q_z_mse": "selfplay.q_z_mse",
    "selfplay_seconds": "selfplay.seconds",
    "evaluations_per_second": "selfplay.evaluations_per_second",
    "train_policy_loss": "learn.train_policy_loss",
    "train_value_loss": "learn.train_value_loss",
    "heldout_training_policy_loss": "learn.heldout_training_policy_loss",
    "heldout_training_value_loss": "learn.heldout_training_value_loss",
    "heldout_policy_loss": "learn.heldout_policy_loss_legal",
    "heldout_value_mse": "learn.heldout_value_mse",
    "value_calibration_error": "learn.heldout_value_calibration_error",
    "learn_seconds": "learn.seconds",
    "match_games": "match.games",
    "match_wins": "match.wins",
    "match_draws": "match.draws",
    "match_losses": "match.losses",
    "match_score": "match.score",
    "match_elo": "match.elo",
    "elo": "elo",
    "accepted": "accepted",
    "learner_waited": "selfplay.learner_waited",
}
"""Column of the CSV -> stage and name of the measurement in a generation; for elo see `elo_curve`.

`train_*` and `heldout_training_*` are the same losses, against the visits and the blend of z and q.
`heldout_policy_loss` is against the action played, over the legal ones, and `heldout_value_mse` against z.
"""

PANELS = {
    "Match of each new network: points": {"match_score": "new against old"},
    "Elo above the first network": {"elo": "sum of the matches"},
    "Losses: cross-entropy, squared error": {
        "train_policy_loss": "policy, training",
        "heldout_training_policy_loss": "policy, held out",
        "heldout_policy_loss": "policy against the action played, held out",
        "train_value_loss": "value, training",
        "heldout_training_value_loss": "value, held out",
        "heldout_value_mse": "value against the result, held out",
    },
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


def elo_curve(history: Sequence[dict[str, Any]]) -> list[float]:
    """Return the Elo of each generation above the first network: the running sum over accepted networks.

    The errors of the matches add up too, so this shows a trend and proves nothing. The luck by which a gate
    accepts networks does not, see `play_gate_match`.
    """
    total, curve = 0.0, []
    for measured in history:
        if measured["accepted"]:
            total += measured["match"].get("elo", 0.0)
        curve.append(total)
    return curve


def best_generation(history: Sequence[dict[str, Any]]) -> int:
    """Return the newest generation that is less than `NOISE` below the highest Elo (`elo_curve`).

    It is 0 for the first network; without matches it is the newest.
    """
    curve = [0.0, *elo_curve(history)]
    least = max(curve) - NOISE
    return max(n for n, elo in enumerate(curve) if elo > least)


def trained_in(history: Sequence[dict[str, Any]], generation: int) -> int:
    """Return the generation in which the network of `generation` was trained: the last accepted up to it."""
    accepted = (measured["generation"] for measured in history[:generation] if measured["accepted"])
    return max(accepted, default=0)


def draw_opponents(config: PoolConfig, history: Sequence[dict[str, Any]], seed: int) -> list[int]:
    """Draw the past networks that the next generation plays against.

    Prioritized fictitious self-play (Vinyals et al. 2019): a network with an expected score p against the
    newest is drawn with a weight of p (1 - p), which is highest for equals. p is from ratings fitted to the
    gate matches and the earlier games of the pool. A newest network without games has the rating of the
    newest that has some.

    Returns their generations, ascending; none if there is no past network or the share is 0.
    """
    networks = [0] + [h["generation"] for h in history if h["accepted"]]
    past = networks[:-1]
    if not config.share or not past:
        return []
    results = _results(networks, history)
    elo = np.array([each.elo for each in ratings(len(networks), results)])
    newest = max((i for pair, scores in results.items() if scores for i in pair), default=len(past))
    p = 1 / (1 + 10 ** ((elo[:-1] - elo[newest]) / 400))
    weight = p * (1 - p)
    rng = np.random.default_rng(seed_stream(seed))
    count = min(config.opponents, len(past))
    return sorted(past[i] for i in rng.choice(len(past), count, replace=False, p=weight / weight.sum()))


def _results(networks: Sequence[int], history: Sequence[dict[str, Any]]) -> PairScores:
    """Return the scores of each pair of networks, one for every two games, for `ratings`."""
    scores: dict[tuple[int, int], list[float]] = {}
    for measured in history:
        played = measured["selfplay"]
        for other, counts in played.get("pool", {}).items():
            player = networks.index(played["network"])
            games = sum(counts.values())
            score = (counts["won"] + counts["drawn"] / 2) / max(1, games)
            scores.setdefault((networks.index(int(other)), player), []).extend([1 - score] * (games // 2))
        if measured["accepted"]:
            match = measured["match"].get("second", measured["match"])
            match_scores = [1 - match["score"]] * (match["games"] // 2) if match["games"] else []
            new = networks.index(measured["generation"])
            scores.setdefault((new - 1, new), []).extend(match_scores)
    return scores


def metrics(history: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row of the CSV for each generation, see `COLUMNS`; missing measurements are None."""
    rows = []
    for measured, elo in zip(history, elo_curve(history), strict=True):
        found = {f"{stage}.{name}": each for stage in STAGES for name, each in measured[stage].items()}
        found |= measured | {"elo": round(elo, 1)}
        rows.append({column: found.get(name) for column, name in COLUMNS.items()})
    return rows


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
