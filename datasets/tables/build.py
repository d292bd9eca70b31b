"""Build tables, a class on each core."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import locked, remove_temporaries
from ckai.datasets.machine import available_cores
from ckai.datasets.tables.file import write_tables
from ckai.datasets.tables.layout import Material, TableLayout, levels, make_layout
from ckai.datasets.tables.solve import DRAWN, MAX_DISTANCE, UNKNOWN, solve_pair

RATE = 1_000_000
"""Positions/s that a core solves, roughly."""


def build_tables(
    pieces: int,
    path: Path,
    *,
    threads: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Any]:
    """Solve all positions with up to `pieces` pieces, 2 to 6, and write them to a table file.

    Args:
        pieces: on the board, both sides together.
        path: the file to write, usually `table_path(pieces, cache_folder())`.
        threads: CPU threads; None: one a core.
        progress: called with the positions solved and the positions in all.

    Returns:
        The file's header: `pieces` and `counts` (won, lost, drawn for the side to move, by number of pieces).

    Raises:
        ValueError: `pieces` out of range, or a distance above 250 plies, which a byte cannot hold.
        LockedError: another process builds these tables.
        WriteError: the file cannot be written.

    Examples:
        >>> from pathlib import Path
        >>> build_tables(2, Path("tables-2.ckt"))["counts"]
        {'2': [716, 402, 2370]}
    """
    layout = make_layout(pieces)
    with locked(path.with_name(f".{path.name}.lock")):
        remove_temporaries(path.parent, of=path.name)
        values = _solve(layout, threads or available_cores(), progress)
        header = {"pieces": pieces, "counts": _counts(layout, values)}
        write_tables(path, values, header)
    return header


def _solve(layout: TableLayout, threads: int, progress: Callable[[int, int], None]) -> NDArray[np.uint8]:
    values = np.full(layout.positions, UNKNOWN, np.uint8)
    solved = 0

    def solve(of: Material) -> int:
        if solve_pair(*of, values, layout.lookup) < 0:
            raise ValueError(f"{of}: expected distances of up to {MAX_DISTANCE} plies, found more")
        return sum(_size(layout, side) for side in {of, of.swapped})

    with ThreadPoolExecutor(threads) as pool:
        for level in levels(layout.pieces):
            # Largest first, so that no core idles long at the end of a level. `map` cancels after an error.
            for size in pool.map(solve, sorted(level, key=lambda of: -_size(layout, of))):
                solved += size
                progress(solved, layout.positions)
    return values


def _size(layout: TableLayout, of: Material) -> int:
    return layout.sizes[layout.classes.index(of)]


def _counts(layout: TableLayout, values: NDArray[np.uint8]) -> dict[str, list[int]]:
    """Won, lost and drawn for the side to move, by number of pieces."""
    counts: dict[str, list[int]] = {}
    for of in layout.classes:
        numbers = np.bincount(layout.part(values, of), minlength=256)
        drawn = int(numbers[DRAWN])
        won = int(numbers[1::2].sum()) - drawn
        lost = int(numbers[0::2].sum())
        total = counts.setdefault(str(of.pieces), [0, 0, 0])
        counts[str(of.pieces)] = [a + b for a, b in zip(total, (won, lost, drawn), strict=True)]
    return counts
