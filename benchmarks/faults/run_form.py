"""The files of a run in number and form, to compare two runs whose games differ."""

import csv
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ckai.models.checkpoint import load_checkpoint
from ckai.rl.loop.dashboard import WORKER_COLUMNS
from ckai.rl.loop.folder import LOCK

OF_WORKERS = {"workers", "late", "stale", *WORKER_COLUMNS}
"""What a run records only when other processes have played for it."""


def form_of_run(folder: Path) -> dict[str, Any]:
    """Return the form of every file of a run by its path in the folder, see `form_of`."""
    return {name_of(path.relative_to(folder)): form_of(path) for path in files_of(folder)}


def files_of(folder: Path) -> list[Path]:
    """Return the files of a run, without its lock."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)


def games_of_run(folder: Path) -> dict[str, int]:
    """Return the number of games in all files of a name; a late game is in a generation after its own."""
    games = Counter[str]()
    for path in files_of(folder):
        games[f"games in all {path.name}"] += games_of(path)
    return {name: count for name, count in games.items() if count}


def games_of(path: Path) -> int:
    """Return the number of games in a file, 0 in one that holds none."""
    if path.suffix == ".parquet":
        return len(set(pq.read_table(path, columns=["game"])["game"].to_pylist()))
    return path.read_text().count("[Event ") if path.suffix == ".pdn" else 0


def name_of(path: Path) -> str:
    """Return a path without the time and the host in the name of a TensorBoard log."""
    name, mark, _ = path.as_posix().partition(".tfevents.")
    return name + mark


def form_of(path: Path) -> Any:
    """Return what a file has whatever games were played: columns, keys, names and shapes."""
    if path.suffix == ".parquet":
        schema = pq.read_schema(path)
        return str(schema.remove_metadata()), sorted(schema.metadata or ())
    if path.suffix == ".json":
        return keys_of(json.loads(path.read_text()))
    if path.suffix == ".csv":
        with path.open() as text:
            rows = list(csv.reader(text))
        return len(rows), [column for column in rows[0] if column not in OF_WORKERS]
    if path.suffix == ".ckpt":
        return sorted((name, tuple(value.shape)) for name, value in load_checkpoint(path).weights.items())
    return path.stat().st_size > 0


def keys_of(value: Any) -> Any:
    """Return the keys of JSON at all levels."""
    if isinstance(value, dict):
        return {key: keys_of(inner) for key, inner in value.items() if key not in OF_WORKERS}
    return type(value).__name__ if not isinstance(value, int | float) else "number"


def differences(one: Path, other: Path) -> list[str]:
    """Return one line for every file that only one run has, or that has another form in the other.

    Args:
        one: folder of a run.
        other: folder of the run that it should be like.
    """
    found, expected = (form_of_run(folder) | games_of_run(folder) for folder in (one, other))
    lines = [f"{name}: expected in {one}, as in {other}" for name in expected if name not in found]
    lines += [f"{name}: not expected in {one}, not in {other}" for name in found if name not in expected]
    for name in found.keys() & expected.keys():
        if found[name] != expected[name]:
            lines.append(f"{one}: {name}: expected {expected[name]}, found {found[name]}")
    return sorted(lines)


if __name__ == "__main__":
    print("\n".join(differences(*map(Path, sys.argv[1:3]))) or "no difference")
