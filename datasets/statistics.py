"""Statistics of a data set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ckai.datasets.reader import RowFiles
from ckai.datasets.split import position_keys
from ckai.datasets.writer import from_numpy, to_numpy
from ckai.game.kernels import STEP_TO
from ckai.pdn.kernels import UNKNOWN_Z

_RESULTS = {"black": 1, "white": -1, "drawn": 0, "unknown": UNKNOWN_Z}


@dataclass(frozen=True)
class Statistics:
    """Statistics of a data set; see `describe`."""

    files: list[str]
    rows: int
    games: int
    plies: int
    results: dict[str, int]
    """Games won by `black` and by `white`, `drawn`, and of `unknown` result."""
    lengths: dict[str, float]
    """Plies of a game: `least`, `mean`, `median` and `most`."""
    captures: int
    """Moves that capture."""
    forced_rows: int
    legal_hops: float
    """Mean number of legal hops of a row."""
    positions: int
    """Distinct positions: board in mover's view, and jumper."""
    rows_repeated: int
    """Rows whose position occurs in another row too."""


def describe(
    paths: str | Path | Sequence[str | Path],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
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
    files = RowFiles([paths] if isinstance(paths, str | Path) else paths)
    parts, done = [], 0
    for file, group in files.groups:
        rows = file.read(group)
        legal = np.bitwise_count(np.ascontiguousarray(rows.legal).view(np.uint64)).sum(1, dtype=np.uint8)
        captures = rows.board[np.arange(len(rows)), STEP_TO[rows.label]] < 0
        result = np.where(rows.z_known, np.where(rows.black, rows.z, -rows.z), np.int8(UNKNOWN_Z))
        game = rows.game.astype(np.int64) + (files.files.index(file) << 32)
        first = rows.hop == 0
        parts.append((game, first, captures & first, result, legal, position_keys(rows.board, rows.jumper)))
        progress(done := done + file.group_rows[group], files.rows)
    game, first, captures, result, legal, keys = map(np.concatenate, zip(*parts, strict=True))
    begins = np.flatnonzero(np.diff(game, prepend=-1))
    plies = np.add.reduceat(first, begins, dtype=np.int64)
    again = to_numpy(pc.value_counts(from_numpy(keys)).field("counts"))
    lengths: dict[str, Any] = {"least": plies.min(), "mean": plies.mean(), "median": np.median(plies)}
    return Statistics(
        files=[str(file.path) for file in files.files],
        rows=len(game),
        games=len(plies),
        plies=int(first.sum()),
        results={name: int((result[begins] == of).sum()) for name, of in _RESULTS.items()},
        lengths={name: each.item() for name, each in (lengths | {"most": plies.max()}).items()},
        captures=int(captures.sum()),
        forced_rows=int((legal == 1).sum()),
        legal_hops=float(legal.mean()),
        positions=len(again),
        rows_repeated=int(again[again > 1].sum()),
    )
