"""The runs in a folder: their list, what the page shows of one, their games."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import files_in
from ckai.models.training.runs import flat_settings, read_run
from ckai.rl.run.dashboard import flatten
from ckai.rl.run.events import RunError
from ckai.rl.run.report import elo_curve
from ckai.rl.run.run import Run
from ckai.rl.run.runs import progress_of

MAX_ROWS, MAX_POINTS = 200, 2000
"""Most games of a generation that are listed, most points of a curve (the last ones)."""
SELFPLAY, PRETRAINING = "self-play", "pretraining"
_LOSSES = (
    "Losses: cross-entropy, squared error",
    {
        "policy, training": "train_policy_loss",
        "policy, held out": "heldout_training_policy_loss",
        "policy against the action played, held out": "heldout_policy_loss",
        "value, training": "train_value_loss",
        "value, held out": "heldout_training_value_loss",
        "value against the result, held out": "heldout_value_mse",
    },
)
_CURVES = (
    ("Elo, sum of the gate matches", {"Elo": "elo"}),
    ("Gate match of each new network: share of the points", {"new against old": "match_score"}),
    _LOSSES,
    (
        "Results of self-play: games",
        {"Black won": "black_won", "drawn": "drawn", "White won": "white_won", "stopped": "unknown"},
    ),
    ("Length of a game: plies", {"mean": "plies_mean"}),
    ("Speed: evaluations per second", {"self-play": "evaluations_per_second"}),
)
"""Curves of a run of self-play: title, and column of metrics.csv by name."""
_EPOCH_CURVES = (
    _LOSSES,
    (
        "Expert's action among the best: share",
        {
            "first, training": "train_top1",
            "first, held out": "heldout_top1",
            "first of the legal ones, held out": "heldout_top1_legal",
            "first three, held out": "heldout_top3",
        },
    ),
)
"""Curves of a pretraining, in the same form."""


def list_runs(folder: Path) -> list[dict[str, Any]]:
    """Return the self-play runs under `runs/` of a folder, and its pretraining runs, the newest first."""
    rows: list[tuple[int, dict[str, Any]]] = []

    def add(path: Path, kind: str, game: str, status: str, text: str) -> None:
        changed = max((each.stat().st_mtime_ns for each in (path, *path.glob("*.csv"))), default=0)
        name = path.relative_to(folder).as_posix()
        rows.append((changed, {"run": name, "kind": kind, "game": game, "status": status, "text": text}))

    for config in files_in(folder / "runs", "**/config.json"):
        if (config.parent / "networks").is_dir():
            with suppress(RunError, OSError):  # from another version, or just removed
                run = Run.open(config.parent)
                add(run.folder, SELFPLAY, run.config.game, run.status, progress_of(run).text)
    for path in (*folder.glob("*.run"), *(folder / "runs").glob("**/*.run")):
        training = read_run(path)
        if training is not None:
            text = f"{training.model}: {len(training.history)} of {training.target} epochs"
            with suppress(OSError):
                add(path, PRETRAINING, DEFAULT_GAME_NAME, training.status, text)
    return [row for _, row in sorted(rows, key=lambda each: each[0], reverse=True)]


def find_run(folder: Path, name: str) -> dict[str, Any]:
    """Return the row of a run that `list_runs` names.

    Raises:
        ValueError: there is no such run.
    """
    found = next((row for row in list_runs(folder) if row["run"] == name), None)
    if found is None:
        raise ValueError(f"expected a run of this folder, found {name[:60]!r}; it may have been removed")
    return found


def describe_run(folder: Path, name: str) -> dict[str, Any]:
    """Return all that the page shows of a run: its row, `settings`, `curves` and `games`, the newest ones.

    Raises:
        ValueError: there is no such run, or it cannot be read.
    """
    row = find_run(folder, name)
    try:
        return row | _shown(folder / name, row["kind"])
    except (ValueError, RuntimeError, OSError, KeyError, TypeError) as error:
        raise ValueError(f"{name}: the run cannot be read: {error}") from error


def _shown(path: Path, kind: str) -> dict[str, Any]:
    """Return what `describe_run` adds to the row of a run."""
    training = read_run(path) if kind == PRETRAINING else None
    if training is not None:
        curves = _curves(_EPOCH_CURVES, "epoch", training.history)
        return {"settings": training.changed, "games": None, "curves": curves}
    run = Run.open(path)
    history = run.history()
    totals = elo_curve(history)
    rows = [flatten(each | {"elo": total}) for each, total in zip(history, totals, strict=True)]
    newest, games = progress_of(run).generation, None
    if newest:
        listed = [game.header for game in islice(run.games(newest), MAX_ROWS)]
        names = ("black", "white", "result", "plies")
        games = {"generation": newest, "rows": [{n: getattr(each, n) for n in names} for each in listed]}
    settings = flat_settings(json.loads((path / "config.json").read_text(encoding="utf-8")))
    return {"settings": settings, "games": games, "curves": _curves(_CURVES, "generation", rows)}


def _curves(curves: Any, along: str, history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return curves; those without a single value are left out."""
    rows, found = history[-MAX_POINTS:], []
    for title, columns in curves:
        series = []
        for name, column in columns.items():
            values = [row.get(column) for row in rows]
            y = [
                value if isinstance(value, int | float) and math.isfinite(value) else None for value in values
            ]
            if any(value is not None for value in y):
                series.append({"name": name, "y": y})
        if series:
            found.append(
                {"title": title, "xlabel": along, "x": [row[along] for row in rows], "series": series}
            )
    return found


def game_text(folder: Path, name: str, generation: int, index: int) -> tuple[str, str]:
    """Return the kind of game of a run, and one of its games as text.

    Raises:
        ValueError: there is no such run, generation or game.
    """
    if find_run(folder, name)["kind"] != SELFPLAY:
        raise ValueError(f"{name}: expected a run of self-play, found a pretraining")
    run = Run.open(folder / name)
    found = next(islice(run.games(generation), index, None), None) if generation > 0 else None
    if found is None:
        raise ValueError(f"{name}: generation {generation}: expected a game of it, found no game {index + 1}")
    return run.config.game, run.pdn_of(found)
