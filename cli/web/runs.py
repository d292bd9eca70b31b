"""The runs in this folder: their list, what the page shows of one, their games."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import files_in
from ckai.datasets.settings import flat_settings
from ckai.models.training.runs import read_run
from ckai.rl.run.dashboard import LOSSES, PANELS, metrics
from ckai.rl.run.events import RunError
from ckai.rl.run.run import Run
from ckai.rl.run.runs import progress_of

MAX_ROWS, MAX_POINTS = 200, 2000
"""Most games of a generation that are listed, most points of a curve (the last ones)."""
SELFPLAY, PRETRAINING = "self-play", "pretraining"
_CURVES = PANELS | {"Speed: evaluations per second": {"evaluations_per_second": "self-play"}}
"""Curves of a run of self-play, see `PANELS`."""
_EPOCH_CURVES = {
    "Losses: cross-entropy, squared error": LOSSES,
    "Expert's action among the best: share": {
        "train_top1": "first, training",
        "heldout_top1": "first, held out",
        "heldout_top1_legal": "first of the legal ones, held out",
        "heldout_top3": "first three, held out",
    },
}
"""Curves of a pretraining, in the same form."""


def follow(name: str = "") -> dict[str, Any]:
    """Return the rows of all `runs`, and all that the page shows of one `run`: the named or the newest."""
    rows = _list()
    row = next((each for each in rows if each["run"] == name), rows[0] if rows else None)
    return {"runs": rows, "run": row and _describe(row)}


def _list() -> list[dict[str, Any]]:
    """Return the self-play runs under `runs/`, and the pretraining runs there and here, the newest first."""
    rows = []
    for path in (*Path().glob("*.run"), *(each.parent for each in files_in(Path("runs"), "**/config.json"))):
        with suppress(RunError, OSError):  # from another version, or just removed
            changed = max(each.stat().st_mtime_ns for each in (path, *path.glob("*.csv")))
            if (path / "networks").is_dir():
                run = Run.open(path)
                kind, game, status, text = SELFPLAY, run.config.game, run.status, progress_of(run).text
            elif training := read_run(path):
                kind, game, status = PRETRAINING, DEFAULT_GAME_NAME, training.status
                text = f"{training.model}: {len(training.history)} of {training.target} epochs"
            else:
                continue
            row = {"run": path.as_posix(), "kind": kind, "game": game, "status": status, "text": text}
            rows.append((changed, row))
    return [row for _, row in sorted(rows, key=lambda each: each[0], reverse=True)]


def _describe(row: dict[str, Any]) -> dict[str, Any]:
    """Return all that the page shows of a run: its row, `settings`, `curves` and `games`, the newest ones.

    A run that cannot be read has its `problem` alone.
    """
    path = Path(row["run"])
    try:
        if row["kind"] == PRETRAINING and (training := read_run(path)):
            curves = _curves(_EPOCH_CURVES, "epoch", training.history)
            return row | {"settings": training.changed, "games": None, "curves": curves}
        run = Run.open(path)
        newest, games = progress_of(run).generation, None
        if newest:
            rows = [vars(game.header) for game in islice(run.games(newest), MAX_ROWS)]
            games = {"generation": newest, "rows": rows}
        settings = flat_settings(json.loads((path / "config.json").read_text(encoding="utf-8")))
        curves = _curves(_CURVES, "generation", metrics(run.history()))
        return row | {"settings": settings, "games": games, "curves": curves}
    except (ValueError, RuntimeError, OSError, KeyError, TypeError) as error:
        return {"run": row["run"], "problem": f"{path}: the run cannot be read: {error}"}


def _curves(curves: Any, along: str, history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return curves; those without a single value are left out."""
    rows, found = history[-MAX_POINTS:], []
    for title, columns in curves.items():
        series = [
            {"name": name, "y": [_known(row.get(key)) for row in rows]} for key, name in columns.items()
        ]
        series = [each for each in series if any(y is not None for y in each["y"])]
        if series:
            x = [row[along] for row in rows]
            found.append({"title": title, "xlabel": along, "x": x, "series": series})
    return found


def _known(value: Any) -> float | None:
    return value if isinstance(value, int | float) and math.isfinite(value) else None


def game_text(run: str, generation: int, index: int) -> tuple[str, str]:
    """Return the kind of game of a run of self-play, and one of its games as text.

    Raises:
        ValueError: there is no such run, generation or game.
    """
    if not any(row["run"] == run and row["kind"] == SELFPLAY for row in _list()):
        raise ValueError(f"expected a run of self-play here, found {run[:60]!r}; it may have been removed")
    opened = Run.open(Path(run))
    found = next(islice(opened.games(generation), index, None), None) if generation > 0 else None
    if found is None:
        raise ValueError(f"{run}: generation {generation}: expected a game of it, found no game {index + 1}")
    return opened.config.game, opened.pdn_of(found)
