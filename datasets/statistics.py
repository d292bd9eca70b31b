"""Statistics of a data set: a few facts of every row, grouped by game and position."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ckai.datasets.games import RowGames, landings
from ckai.datasets.reader import RowFile, RowFiles
from ckai.datasets.split import position_keys
from ckai.datasets.writer import from_numpy, to_numpy
from ckai.pdn.kernels import UNKNOWN_Z

ProgressCallback = Callable[[int, int], None]
"""Called with the rows done and the rows in all."""

_RESULTS = {"black": 1, "white": -1, "drawn": 0, "unknown": UNKNOWN_Z}


@dataclass(frozen=True)
class Lengths:
    """Length of games in plies."""

    least: int
    mean: float
    median: float
    most: int


@dataclass(frozen=True)
class Statistics:
    """Statistics of a data set; see `describe`."""

    files: list[str]
    rows: int
    games: int
    plies: int
    results: dict[str, int]
    """Games won by `black` and by `white`, `drawn`, and of `unknown` result."""
    lengths: Lengths
    forced_rows: int
    legal_hops: float
    """Mean number of legal hops of a row."""
    capture_plies: int
    """Moves that capture at least one piece."""
    multi_jumps: int
    """Moves that capture at least two pieces."""
    king_plies: int
    """Moves played by a king."""
    crownings: int
    positions: int
    """Distinct positions: board in mover's view, and jumper."""
    rows_repeated: int
    """Rows whose position occurs in another row too."""
    headers: dict[str, int] | None
    """Numbers of `games`, `players`, `events` and `openings` in the headers; None if there are none."""


def describe(
    paths: str | Path | Sequence[str | Path], *, progress: ProgressCallback | None = None
) -> Statistics:
    """Compute the statistics of a data set; takes about 40 bytes of memory a row.

    Args:
        paths: one or several row files, taken as one data set.
        progress: called with the rows read and the rows to read in all.

    Raises:
        DatasetError: a file that is missing, damaged, or of another format.

    Examples:
        >>> statistics = describe(["games.parquet"])
        >>> statistics.games, statistics.plies, statistics.results
        (2, 11, {'black': 1, 'white': 0, 'drawn': 1, 'unknown': 0})
    """
    paths = [paths] if isinstance(paths, str | Path) else paths
    files = RowFiles(paths)
    parts: list[dict[str, NDArray[Any]]] = []
    done = 0
    for file, group in files.groups:
        parts.append(_facts(file, group, files.files.index(file)))
        done += file.group_rows[group]
        if progress:
            progress(done, files.rows)
    facts = {name: np.concatenate([part.pop(name) for part in parts]) for name in [*parts[0]]}
    sums = {name: int(fact.sum()) for name, fact in facts.items()}
    begins = np.flatnonzero(np.diff(facts["game"], prepend=-1))
    plies = np.add.reduceat(facts["first"], begins, dtype=np.int64)
    results = facts["result"][begins]
    again = to_numpy(pc.value_counts(from_numpy(facts["key"])).field("counts"))
    return Statistics(
        files=[str(path) for path in paths],
        rows=len(facts["game"]),
        games=len(plies),
        plies=sums["first"],
        results={name: int((results == result).sum()) for name, result in _RESULTS.items()},
        lengths=Lengths(int(plies.min()), float(plies.mean()), float(np.median(plies)), int(plies.max())),
        forced_rows=sums["forced"],
        legal_hops=sums["legal_hops"] / len(facts["game"]),
        capture_plies=sums["captures"],
        multi_jumps=sums["second"],
        king_plies=sums["king_moves"],
        crownings=sums["crowned"],
        positions=len(again),
        rows_repeated=int(again[again > 1].sum()),
        headers=_headers(files.files),
    )


def _facts(file: RowFile, group: int, number: int) -> dict[str, NDArray[Any]]:
    """What the statistics need of the rows of one row group of file `number`, an entry each.

    `first` and `second` are the first and second hop of a move.
    """
    rows = file.read(group)
    black, hop = file.columns(group, "black", "hop")
    capture, to = landings(rows.board, rows.label)
    king = rows.board[np.arange(len(rows)), rows.label >> 2] == 3
    legal = np.bitwise_count(np.ascontiguousarray(rows.legal).view(np.uint64)).sum(1, dtype=np.uint8)
    first = hop == 0
    return {
        "game": rows.game.astype(np.int64) + (number << 32),
        "first": first,
        "second": hop == 1,
        "forced": legal == 1,
        "legal_hops": legal,
        "captures": capture & first,
        "king_moves": king & first,
        "crowned": ~king & (to >= 28),
        "key": position_keys(rows.board, rows.jumper),
        "result": np.where(rows.z_known, np.where(black, rows.z, -rows.z), np.int8(UNKNOWN_Z)),
    }


def _headers(files: Sequence[RowFile]) -> dict[str, int] | None:
    """Contents of the headers, next to the rows or in shards of self-play; None if there are none."""
    tables = [games.headers for games in map(RowGames, files) if games.known]
    if not tables:
        return None
    table = pa.concat_tables(tables)
    columns = {"players": ("black", "white"), "events": ("event",), "openings": ("opening",)}
    names = {
        kind: {name for column in of for name in table[column].unique().to_pylist()} - {None, "", "?"}
        for kind, of in columns.items()
    }
    return {"games": table.num_rows} | {kind: len(found) for kind, found in names.items()}
