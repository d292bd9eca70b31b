"""Statistics of a data set: a few facts of every row, grouped by phase, game and position."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ckai.datasets.games import RowGames
from ckai.datasets.reader import RowFile, RowFiles
from ckai.datasets.split import position_keys
from ckai.datasets.writer import from_numpy, to_numpy
from ckai.game.kernels import JUMP_TO, STEP_TO
from ckai.game.squares import SQUARES
from ckai.pdn.kernels import UNKNOWN_Z

ProgressCallback = Callable[[int, int], None]
"""Called with the rows done and the rows in all."""

PHASE_PLIES = 10
_OF_ROWS, _OF_PLIES = ("forced", "legal_hops", "pieces", "kings"), ("captures", "king_moves")
_RESULTS = {"black": 1, "white": -1, "drawn": 0, "unknown": UNKNOWN_Z}


@dataclass(frozen=True)
class Phase:
    """Plies `first_ply` to `first_ply` + 9 of all games."""

    first_ply: int
    plies: int
    rows: int
    forced: float
    """Share of rows with one legal hop."""
    legal_hops: float
    """Mean number of legal hops of a row."""
    captures: float
    """Share of plies that capture."""
    king_moves: float
    """Share of plies played by a king."""
    pieces: float
    """Mean number of pieces on the board."""
    kings: float
    """Mean number of kings on the board."""


@dataclass(frozen=True)
class Repeats:
    """Repeated positions: equal board (in mover's view) and jumper."""

    positions: int
    """Distinct positions."""
    positions_repeated: int
    """Distinct positions that occur more than once."""
    rows_repeated: int
    """Rows whose position occurs in another row too."""
    rows_seen_before: int
    """Rows whose position occurs in an earlier row: all but the first of each."""
    most: int
    """Rows of the most frequent position."""


@dataclass(frozen=True)
class Lengths:
    """Length of games in plies."""

    least: int
    mean: float
    median: float
    most: int


@dataclass(frozen=True)
class Headers:
    """Contents of the games' headers; each list has the most frequent (name, games) first."""

    games: int
    players: int
    events: int
    openings: int
    top_players: list[tuple[str, int]]
    top_events: list[tuple[str, int]]
    top_openings: list[tuple[str, int]]


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
    capture_rows: int
    """Hops that capture a piece."""
    capture_plies: int
    """Moves that capture at least one piece."""
    multi_jumps: int
    """Moves that capture at least two pieces."""
    most_captured: int
    """Most pieces captured by one move."""
    king_plies: int
    """Moves played by a king."""
    crownings: int
    repeats: Repeats
    phases: list[Phase]
    headers: Headers | None
    """None if there is no headers file."""
    from_squares: list[int]
    """`[32]`: hops that leave PDN square i + 1."""
    to_squares: list[int]
    """`[32]`: hops that land on PDN square i + 1."""
    games_of_length_by_result: dict[str, list[int]]
    """Entry i: games of i plies, for each result, named as in `results`."""


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
    of_result = {name: plies[facts["result"][begins] == result] for name, result in _RESULTS.items()}
    longest = int(plies.max()) + 1
    return Statistics(
        files=[str(path) for path in paths],
        rows=len(facts["game"]),
        games=len(plies),
        plies=sums["first"],
        results={name: len(lengths) for name, lengths in of_result.items()},
        lengths=Lengths(int(plies.min()), float(plies.mean()), float(np.median(plies)), int(plies.max())),
        forced_rows=sums["forced"],
        legal_hops=sums["legal_hops"] / len(facts["game"]),
        capture_rows=sums["capture"],
        capture_plies=sums["captures"],
        multi_jumps=sums["second"],
        most_captured=int(facts["captured"].max()),
        king_plies=sums["king_moves"],
        crownings=sums["crowned"],
        repeats=_repeats(facts["key"]),
        phases=_phases(facts),
        headers=_headers(files.files),
        from_squares=np.bincount(facts["from"], minlength=SQUARES).tolist(),
        to_squares=np.bincount(facts["to"], minlength=SQUARES).tolist(),
        games_of_length_by_result={
            name: np.bincount(lengths, minlength=longest).tolist() for name, lengths in of_result.items()
        },
    )


def _facts(file: RowFile, group: int, number: int) -> dict[str, NDArray[Any]]:
    """What the statistics need of the rows of one row group of file `number`, an entry each.

    `first` and `second` are the first and second hop of a move; `capture_ply` and `king_ply` are facts of the
    first.
    """
    rows = file.read(group)
    black, hop = file.columns(group, "black", "hop")
    n = len(rows)
    at, origin = np.arange(n), rows.label >> 2
    capture = rows.board[at, STEP_TO[rows.label]] < 0
    to = np.where(capture, JUMP_TO[rows.label], STEP_TO[rows.label]).astype(np.uint8)
    king = rows.board[at, origin] == 3
    legal = np.bitwise_count(np.ascontiguousarray(rows.legal).view(np.uint64)).sum(1, dtype=np.uint8)
    first = hop == 0
    return {
        "game": rows.game.astype(np.int64) + (number << 32),
        "phase": np.maximum(rows.ply, 0) // PHASE_PLIES,
        "first": first,
        "second": hop == 1,
        "forced": legal == 1,
        "legal_hops": legal,
        "capture": capture,
        "captures": capture & first,
        "captured": np.where(capture, hop + 1, 0).astype(np.int8),
        "king_moves": king & first,
        "crowned": ~king & (to >= 28),
        "pieces": (rows.board != 0).sum(1, dtype=np.uint8),
        "kings": (np.abs(rows.board) == 3).sum(1, dtype=np.uint8),
        "from": np.where(black, origin, 31 - origin),
        "to": np.where(black, to, 31 - to),
        "key": position_keys(rows.board, rows.jumper),
        "result": np.where(rows.z_known, np.where(black, rows.z, -rows.z), np.int8(UNKNOWN_Z)),
    }


def _repeats(keys: NDArray[np.uint64]) -> Repeats:
    rows = len(keys)
    counts = to_numpy(pc.value_counts(from_numpy(keys)).field("counts"))
    again = counts[counts > 1]
    return Repeats(
        positions=len(counts),
        positions_repeated=len(again),
        rows_repeated=int(again.sum()),
        rows_seen_before=rows - len(counts),
        most=int(counts.max()),
    )


def _phases(facts: dict[str, NDArray[Any]]) -> list[Phase]:
    phase = facts["phase"]
    rows, plies = np.bincount(phase), np.bincount(phase, facts["first"])
    means = {name: np.bincount(phase, facts[name]) / np.maximum(rows, 1) for name in _OF_ROWS}
    means |= {name: np.bincount(phase, facts[name]) / np.maximum(plies, 1) for name in _OF_PLIES}
    return [
        Phase(
            first_ply=n * PHASE_PLIES,
            plies=int(plies[n]),
            rows=int(rows[n]),
            **{name: float(mean[n]) for name, mean in means.items()},
        )
        for n in np.flatnonzero(rows).tolist()
    ]


def _headers(files: Sequence[RowFile]) -> Headers | None:
    """Contents of the headers, next to the rows or in shards of self-play; None if there are none."""
    tables = [games.headers for games in map(RowGames, files) if games.known]
    if not tables:
        return None
    table = pa.concat_tables(tables)
    players, events, openings = (
        _names(table, names) for names in (("black", "white"), ("event",), ("opening",))
    )
    return Headers(
        games=table.num_rows,
        players=len(players),
        events=len(events),
        openings=len(openings),
        top_players=players.most_common(5),
        top_events=events.most_common(5),
        top_openings=openings.most_common(5),
    )


def _names(table: pa.Table, columns: Sequence[str]) -> Counter[str]:
    """How often each name is in some columns; empty and unknown ones left out."""
    counts: Counter[str] = Counter()
    for column in columns:
        for found in pc.value_counts(table[column]).to_pylist():
            if found["values"] not in (None, "", "?"):
                counts[found["values"]] += found["counts"]
    return counts
