"""Positions that come up again and again, in one game or in many: kept as they are, once a move, or once.

all         every row
distinct    one row for each move played in a position, however often it was
average     one row for each position, that learns the shares of the moves and the mean result

Two rows are of the same position where board and jumper are equal; the halfmove clock is that of the first.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ckai.datasets import POSITIONS
from ckai.datasets.rows import Bytes, Rows, Visits
from ckai.datasets.split import position_keys
from ckai.game.squares import NUM_ACTIONS

SHARES = 1000
"""Whole that the shares of a row's searched moves are rounded to before rows are added up."""


def merge_positions(rows: Rows, how: str) -> Rows:
    """Rows with those of equal positions merged, in the order of their first.

    Args:
        rows: any.
        how: one of `POSITIONS`.

    Returns:
        New rows: z (float32), q and the surprise are means over the rows with a known result or a search; of
        "average", `visits` says how often each move was played, and `label` is the one played most (the
        lowest of several).

    Raises:
        ValueError: for another `how`.
    """
    if how not in POSITIONS:
        raise ValueError(f"expected positions {', '.join(POSITIONS)}, found {how!r}")
    if how == "all" or not len(rows):
        return rows
    keys = position_keys(rows.board, rows.jumper)
    if how == "distinct":
        keys = (
            keys * np.uint64(NUM_ACTIONS) + rows.label
        )  # a position's key is a hash: one more step keeps it one
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # groups in the order of their first rows
    group, first = rank[inverse], np.sort(first)
    size = len(first)
    merged = rows.take(first)
    known = np.bincount(group, rows.z_known, size)
    z = np.bincount(group, np.where(rows.z_known, rows.z, 0), size) / np.maximum(known, 1)
    merged = replace(merged, z=z.astype(np.float32), z_known=known > 0)
    if rows.q is not None:
        searched = ~np.isnan(rows.q)
        number = np.bincount(group, searched, size)
        total = np.bincount(group, np.where(searched, rows.q, 0), size)
        q = np.where(number > 0, total / np.maximum(number, 1), np.nan)
        merged = replace(merged, q=q.astype(np.float32))
    if rows.surprise is not None:
        mean = np.bincount(group, rows.surprise, size) / np.bincount(group, minlength=size)
        merged = replace(merged, surprise=mean.astype(np.float32))
    if how == "distinct":
        return merged
    visits, label = _moves(rows, group, size)
    return replace(merged, visits=visits, label=label)


def _moves(rows: Rows, group: NDArray[np.int64], size: int) -> tuple[Visits, Bytes]:
    """The moves of each group, and the one played most."""
    if rows.visits is None:
        entry_group, labels, counts = group, rows.label, np.ones(len(rows), np.int64)
    else:
        listed = np.diff(rows.visits.offsets)
        bare = np.flatnonzero(listed == 0)  # rows without a search: the move played has it all
        of_row = np.repeat(np.arange(len(rows)), listed)
        total = np.maximum(np.bincount(of_row, rows.visits.counts, len(rows)), 1)
        shares = np.rint(rows.visits.counts / total[of_row] * SHARES).astype(np.int64)
        entry_group = np.concatenate([group[of_row], group[bare]])
        labels = np.concatenate([rows.visits.labels, rows.label[bare]])
        counts = np.concatenate([shares, np.full(len(bare), SHARES)])
    cells, at = np.unique(entry_group * NUM_ACTIONS + labels, return_inverse=True)
    played = np.bincount(at, counts).astype(np.uint32)
    cell_group, cell_label = cells // NUM_ACTIONS, (cells % NUM_ACTIONS).astype(np.uint8)
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(cell_group, minlength=size), out=offsets[1:])
    order = np.lexsort((cell_label, -played.astype(np.int64), cell_group))
    return Visits(offsets, cell_label, played), cell_label[order[offsets[:-1]]]
