"""Games under way on disk, so that a kill costs some seconds of search and not the games in flight."""

import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import whole_file
from ckai.rl.selfplay.recording import COUNT, ROW


@dataclass(frozen=True)
class GameSnapshot:
    """What a game under way has written down, and its random stream; the tree is searched anew."""

    number: int
    rows: NDArray[Any]
    """[n] `games_played.ROW`, one or more."""
    counts: NDArray[Any]
    """[v] `games_played.COUNT`."""
    rng: int


def save_snapshot(path: Path, games: Sequence[GameSnapshot]) -> None:
    """Write games as one whole file."""
    with whole_file(path) as file:
        np.savez(
            file,
            number=np.array([game.number for game in games], np.int64),
            rng=np.array([game.rng for game in games], np.uint64),
            row_count=np.array([len(game.rows) for game in games], np.int64),
            visit_count=np.array([len(game.counts) for game in games], np.int64),
            rows=np.concatenate([np.zeros(0, ROW), *(game.rows for game in games)]),
            counts=np.concatenate([np.zeros(0, COUNT), *(game.counts for game in games)]),
        )


def load_snapshots(paths: Iterable[Path]) -> tuple[dict[int, GameSnapshot], list[str]]:
    """Games by number, of each the longest, and a line for each file that cannot be read."""
    found: dict[int, GameSnapshot] = {}
    damaged = []
    for path in paths:
        try:
            with np.load(path, allow_pickle=False) as data:
                games = _split({name: data[name] for name in data.files})
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            damaged.append(f"{path}: expected games under way, found a damaged file ({reason}); begun anew")
            continue
        for game in games:
            if game.number not in found or len(found[game.number].rows) < len(game.rows):
                found[game.number] = game
    return found, damaged


def _split(data: dict[str, NDArray[Any]]) -> list[GameSnapshot]:
    if data["rows"].dtype != ROW or data["counts"].dtype != COUNT:
        raise ValueError("rows of another version")
    if not len(data["number"]):
        return []
    rows = np.split(data["rows"], np.cumsum(data["row_count"])[:-1])
    counts = np.split(data["counts"], np.cumsum(data["visit_count"])[:-1])
    return [
        GameSnapshot(int(number), r, c, int(rng))
        for number, rng, r, c in zip(data["number"], data["rng"], rows, counts, strict=True)
    ]
