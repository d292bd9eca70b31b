"""The files of a run in number and form, to compare two runs whose games differ."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from ckai.models.checkpoint import load_checkpoint
from ckai.rl.loop.dashboard import WORKER_COLUMNS
from ckai.rl.loop.folder import LOCK

OF_WORKERS = {"workers", *WORKER_COLUMNS}
"""What a run records only when other processes have played for it."""


def form_of_run(folder: Path) -> dict[str, Any]:
    """Return the form of every file of a run by its path in the folder, see `form_of`."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != LOCK)
    return {name_of(path.relative_to(folder)): form_of(path) for path in files}


def name_of(path: Path) -> str:
    """Return a path without the time and the host in the name of a TensorBoard log."""
    name, mark, _ = path.as_posix().partition(".tfevents.")
    return name + mark


def form_of(path: Path) -> Any:
    """Return what a file has whatever games were played: columns, keys, names and shapes, number of games."""
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        games = len(set(file.read(["game"])["game"].to_pylist()))
        return games, str(file.schema_arrow.remove_metadata()), sorted(file.schema_arrow.metadata or ())
    if path.suffix == ".json":
        return keys_of(json.loads(path.read_text()))
    if path.suffix == ".csv":
        with path.open() as text:
            rows = list(csv.reader(text))
        return len(rows), [column for column in rows[0] if column not in OF_WORKERS]
    if path.suffix == ".ckpt":
        return sorted((name, tuple(value.shape)) for name, value in load_checkpoint(path).weights.items())
    if path.suffix == ".pdn":
        return path.read_text().count("[Event ")
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
    found, expected = form_of_run(one), form_of_run(other)
    lines = [f"{name}: expected in {one}, as in {other}" for name in expected if name not in found]
    lines += [f"{name}: not expected in {one}, not in {other}" for name in found if name not in expected]
    for name in found.keys() & expected.keys():
        if found[name] != expected[name]:
            lines.append(f"{one / name}: expected {expected[name]}, found {found[name]}")
    return sorted(lines)


if __name__ == "__main__":
    print("\n".join(differences(*map(Path, sys.argv[1:3]))) or "no difference")
