"""Snapshots of unfinished games on disk, so that a killed run loses seconds of search and no games."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import first_line, whole_file
from ckai.rl.selfplay.recording import COUNT, row_dtype


@dataclass(frozen=True)
class GameSnapshot:
    """An unfinished game, at the beginning of its current search. The search tree is not kept."""

    number: int
    """Number of the game."""
    rows: NDArray[Any]
    """[n] `recording.row_dtype`, n >= 1."""
    counts: NDArray[Any]
    """[v] `recording.COUNT`."""
    rng: int
    """State of its random stream, 64 bits."""
    full: bool | None = None
    """Whether the current search is a full one; None in files of earlier versions, which do not say."""


def save_snapshot(path: Path, games: Sequence[GameSnapshot]) -> None:
    """Write snapshots to a file in NumPy's npz format; the file is replaced as a whole."""
    rows = [game.rows for game in games]
    with whole_file(path) as file:
        np.savez(
            file,
            number=np.array([game.number for game in games], np.int64),
            rng=np.array([game.rng for game in games], np.uint64),
            full=np.array([-1 if game.full is None else game.full for game in games], np.int8),
            row_count=np.array([len(game.rows) for game in games], np.int64),
            visit_count=np.array([len(game.counts) for game in games], np.int64),
            rows=np.concatenate(rows) if rows else np.zeros(0, row_dtype(1)),
            counts=np.concatenate([np.zeros(0, COUNT), *(game.counts for game in games)]),
        )


def load_snapshots(paths: Iterable[Path], state_words: int) -> tuple[dict[int, GameSnapshot], list[str]]:
    """Read snapshots.

    Args:
        paths: files of `save_snapshot`.
        state_words: int64 words of a state of the game.

    Returns:
        The snapshots by number of the game, the longest where a game has several; and one message for each
        file that cannot be read.
    """
    games: dict[int, GameSnapshot] = {}
    damaged = []
    for path in paths:
        try:
            with np.load(path, allow_pickle=False) as data:
                read = _split({name: data[name] for name in data.files}, state_words)
        except Exception as error:  # a damaged file can make NumPy raise anything
            damaged.append(
                f"{path}: expected unfinished games, found a damaged file ({first_line(error)}); "
                "they start again"
            )
            continue
        for game in read:
            if game.number not in games or len(games[game.number].rows) < len(game.rows):
                games[game.number] = game
    return games, damaged


def _split(data: dict[str, NDArray[Any]], state_words: int) -> list[GameSnapshot]:
    if not len(data["number"]):
        return []
    rows = np.split(_as(data["rows"], row_dtype(state_words)), np.cumsum(data["row_count"])[:-1])
    counts = np.split(_as(data["counts"], COUNT), np.cumsum(data["visit_count"])[:-1])
    numbers = data["number"]
    full = data.get("full", np.full(len(numbers), -1))
    return [
        GameSnapshot(int(number), r, c, int(rng), None if f < 0 else bool(f))
        for number, rng, r, c, f in zip(numbers, data["rng"], rows, counts, full, strict=True)
    ]


def _as(records: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return records with the current names of the fields; earlier versions had other names for some."""
    layout = [
        [(of.fields[name][0], of.fields[name][1]) for name in of.names or ()] if of.fields else []
        for of in (records.dtype, dtype)
    ]
    if layout[0] != layout[1]:
        raise ValueError("rows of another version")
    return records.view(dtype)
