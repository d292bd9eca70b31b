"""The runs in a folder, and one of them followed while it goes on."""

import asyncio
import json
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckai.cli.web.library import Library, opened
from ckai.cli.web.pdn_tree import annotates
from ckai.cli.web.table import ActionError
from ckai.cli.web.tree import Tree
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.files import files_in
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl.selfplay.rows import GameHeader

POLL_SECONDS = 2.0
MAX_ROWS = 200
"""Most games of a generation that are listed."""
MAX_POINTS = 2000
"""Most points of a curve, the last ones."""

SELFPLAY, PRETRAINING = "selfplay", "pretraining"

_LOSSES = (
    "Losses",
    "cross-entropy; squared error",
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
    ("Gate match of each new network", "share of the points", {"new against old": "match_score"}),
    _LOSSES,
    (
        "Results of self-play",
        "games",
        {"Black won": "black_won", "drawn": "drawn", "White won": "white_won", "stopped": "unknown"},
    ),
    ("Length of a game", "plies", {"mean": "plies_mean"}),
    ("Speed", "evaluations per second", {"self-play": "evaluations_per_second"}),
)
"""Curves of a run of self-play: name, label of the values, and column of metrics.csv by name."""

_EPOCH_CURVES = (
    _LOSSES,
    (
        "Expert's action among the best",
        "share",
        {
            "first, training": "train_top1",
            "first, held out": "heldout_top1",
            "first of the legal ones, held out": "heldout_top1_legal",
            "first three, held out": "heldout_top3",
        },
    ),
)
"""Curves of a training, in the same form."""


def _training_folders(folder: Path) -> list[Path]:
    return [*folder.glob("*.run"), *(folder / "runs").glob("**/*.run")]


def list_runs(folder: Path) -> list[dict[str, Any]]:
    """Return the self-play runs under `runs/` of a folder, and its training runs, the newest first."""
    from ckai.models.training.runs import read_run
    from ckai.rl.run.events import RunError
    from ckai.rl.run.run import Run
    from ckai.rl.run.runs import progress_of

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
    for path in _training_folders(folder):
        training = read_run(path)
        if training is not None:
            with suppress(OSError):
                add(path, PRETRAINING, DEFAULT_GAME_NAME, training.status, _epochs(training))
    return [row for _, row in sorted(rows, key=lambda each: each[0], reverse=True)]


def _epochs(training: Any) -> str:
    return f"{training.model}: {len(training.history)} of {training.target} epochs"


def find_run(folder: Path, name: str) -> tuple[Path, str]:
    """Return the folder and the kind of a run that `list_runs` names.

    Raises:
        ActionError: there is no such run.
    """
    for row in list_runs(folder):
        if row["run"] == name:
            return folder / name, row["kind"]
    raise ActionError(f"expected a run of this folder, found {name[:60]!r}; it may have been removed")


async def follow(folder: Path, name: str, push: Callable[[dict[str, Any]], None]) -> None:
    """Tell a tab of a run now and whenever its files change, until cancelled."""
    try:
        path, kind = await asyncio.to_thread(find_run, folder, name)
    except ActionError as error:
        push(_failed(name, str(error)))
        return
    seen: Any = None
    while True:
        now = await asyncio.to_thread(_signature, path)
        if now != seen:
            seen = now
            push(await asyncio.to_thread(describe_run, path, kind, name))
        await asyncio.sleep(POLL_SECONDS)


def _signature(path: Path) -> Any:
    from ckai.datasets.files import is_locked
    from ckai.rl.run.run import LOCK
    from ckai.rl.run.runs import newest_files

    return is_locked(path / LOCK), newest_files(path)


def _failed(name: str, problem: str) -> dict[str, Any]:
    return {
        "type": "run",
        "run": name,
        "kind": "",
        "game": "",
        "status": "",
        "text": "",
        "settings": {},
        "curves": [],
        "elo": [],
        "games": None,
        "problem": problem,
    }


def describe_run(path: Path, kind: str, name: str) -> dict[str, Any]:
    """Return all that the page shows of a run; what cannot be read becomes its `problem`."""
    try:
        found = _selfplay(path) if kind == SELFPLAY else _training(path)
    except (ValueError, RuntimeError, OSError, KeyError, TypeError) as error:
        return _failed(name, f"the run cannot be read: {error}")
    return _failed(name, "") | found | {"kind": kind, "problem": None}


def _training(path: Path) -> dict[str, Any]:
    from ckai.models.training.runs import read_run

    run = read_run(path)
    if run is None:
        raise ValueError(f"{path}: expected a training, found none")
    history = run.history[-MAX_POINTS:]
    x = [row["epoch"] for row in history]
    curves = [_curve(title, label, "epoch", x, history, series) for title, label, series in _EPOCH_CURVES]
    return {
        "game": DEFAULT_GAME_NAME,
        "status": run.status,
        "text": _epochs(run),
        "settings": run.changed,
        "curves": [curve for curve in curves if curve["series"]],
    }


def _selfplay(path: Path) -> dict[str, Any]:
    from ckai.rl.run.dashboard import flatten
    from ckai.rl.run.report import elo_curve
    from ckai.rl.run.run import Run
    from ckai.rl.run.runs import progress_of

    run = Run.open(path)
    history = run.history()
    totals = elo_curve(history)
    rows = [flatten(each | {"elo": total}) for each, total in zip(history, totals, strict=True)][-MAX_POINTS:]
    x = [row["generation"] for row in rows]
    curves = [_curve(title, label, "generation", x, rows, series) for title, label, series in _CURVES]
    progress = progress_of(run)
    games = None
    if progress.generation:
        listed = islice(run.games(progress.generation), MAX_ROWS)
        games = {
            "generation": progress.generation,
            "rows": [_listed(n, game.header) for n, game in enumerate(listed)],
        }
    return {
        "game": run.config.game,
        "status": run.status,
        "text": progress.text,
        "settings": _settings(path),
        "curves": [curve for curve in curves if curve["series"]],
        "elo": [
            _match(each, total) for each, total in zip(history, totals, strict=True) if each["match"]["games"]
        ],
        "games": games,
    }


def _settings(path: Path) -> dict[str, Any]:
    from ckai.models.training.runs import flat_settings

    return flat_settings(json.loads((path / "config.json").read_text(encoding="utf-8")))


def _match(measured: Mapping[str, Any], total: float) -> dict[str, Any]:
    match = measured["match"]
    low, high = match.get("interval", (None, None))
    return {
        "generation": measured["generation"],
        "elo": match.get("elo"),
        "low": low,
        "high": high,
        "total": round(total, 1),
        "accepted": bool(measured["accepted"]),
        "games": match["games"],
    }


def _curve(
    title: str,
    label: str,
    along: str,
    x: list[Any],
    rows: Sequence[Mapping[str, Any]],
    series: Mapping[str, str],
) -> dict[str, Any]:
    """Return a curve; series without a single value are left out."""
    found = []
    for name, column in series.items():
        values = [row.get(column) for row in rows]
        y = [value if isinstance(value, int | float) and math.isfinite(value) else None for value in values]
        if any(value is not None for value in y):
            found.append({"name": name, "y": y})
    return {"name": title, "xlabel": along, "ylabel": label, "x": x, "series": found}


def _listed(index: int, header: "GameHeader") -> dict[str, Any]:
    """Return a row of the list of games."""
    names = ("black", "white", "result", "plies")
    return {"index": index, **{name: getattr(header, name) for name in names}}


def run_game(
    folder: Path, name: str, generation: int, index: int, games: Mapping[str, GameSpec]
) -> tuple[Tree, list[tuple[str, str]], str]:
    """Return a game of a generation as a tree, with its tags and result.

    Raises:
        ActionError: there is no such run, generation or game.
        ValueError, OSError: it cannot be read.
    """
    from ckai.rl.run.run import Run

    path, kind = find_run(folder, name)
    if kind != SELFPLAY:
        raise ActionError(f"{name}: expected a run of self-play, found a training")
    run = Run.open(path)
    listed = list(run.games(generation)) if generation > 0 else []
    if not 0 <= index < len(listed):
        raise ActionError(f"{name}: expected game 1 to {len(listed)}, found {index + 1}")
    spec, text = games[run.config.game], run.pdn_of(listed[index])
    if annotates(spec):
        tree, headers, result, _ = opened(Library(text, name).game(0))
        return tree, headers, result
    with tempfile.TemporaryDirectory() as place:
        file = Path(place, "game.txt")
        file.write_text(text, encoding="utf-8")
        loaded = spec.read_game(file, 1)
    tree = Tree(spec, loaded.game.positions[0])
    node = tree.root
    for move in loaded.game.moves:
        node = tree.add(node, move)
    return tree, list(loaded.headers.items()), loaded.result
