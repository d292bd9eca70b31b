"""Merge the rows of repeated positions.

    all         keep every row
    distinct    one row for each action played in a position
    average     one row for each position: the shares of its actions and its mean result

Two rows are of the same position if board and jumper are equal; the halfmove clock is the first row's.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.choices import POSITIONS
from ckai.datasets.rows import Bytes, Rows, Visits
from ckai.datasets.split import position_keys

ACTIONS = 256
"""More than the largest action of any game: a label is one byte."""
SHARES = 1000
"""Visit shares are rounded to multiples of 1 / SHARES before rows are added up."""


def merge_positions(rows: Rows, how: str) -> Rows:
    """Merge the rows of equal positions, in the order of their first rows.

    Args:
        rows: any number.
        how: one of `POSITIONS`: "all", "distinct" or "average".

    Returns:
        New rows: z (float32) and q are means over the rows that have a result or a search, `surprise`
        over those that have one. With "distinct", `visits` are those of the first row that has a policy
        target (no visits, or one above 0). With "average", `visits` counts how often each action was played,
        and `label` is the most frequent action (the lowest on a tie; that of the first row if no row has a
        policy target).

    Raises:
        ValueError: `how` is not in `POSITIONS`.

    Examples:
        >>> from ckai.datasets import read_rows
        >>> rows = read_rows("games.parquet")
        >>> merged = merge_positions(rows, "average")  # both games begin from the start position
        >>> len(rows), len(merged), merged.visits.counts[:2].tolist()
        (11, 10, [1, 1])
    """
    if how not in POSITIONS:
        raise ValueError(f"expected positions {', '.join(POSITIONS)}, found {how!r}")
    if how == "all":
        return rows
    if not len(rows):
        return rows
    keys = position_keys(rows.board, rows.jumper)
    if how == "distinct":
        # Position keys are hashes already: a linear step keeps them well spread, an odd factor all of them.
        keys = keys * np.uint64(ACTIONS + 1) + rows.label
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(first))  # groups in the order of their first rows
    group, first = rank[inverse], np.sort(first)
    size = len(first)
    merged = rows.take(first)
    results = np.bincount(group, rows.z_known, size)
    z = np.bincount(group, np.where(rows.z_known, rows.z, 0), size) / np.maximum(results, 1)
    merged = replace(merged, z=z.astype(np.float32), z_known=results > 0)
    if rows.q is not None:
        merged = replace(merged, q=_mean_of_known(rows.q, group, size))
    if rows.surprise is not None:
        merged = replace(merged, surprise=_mean_of_known(rows.surprise, group, size))
    if how == "distinct":
        if rows.visits is None:
            return merged
        return replace(merged, visits=rows.visits.take(_first_with_target(rows.visits, group, first)))
    visits, label, known = _action_counts(rows, group, size)
    return replace(merged, visits=visits, label=np.where(known, label, merged.label))


def _first_with_target(
    visits: Visits, group: NDArray[np.int64], first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The first row of each group that has a policy target, else its first row; `[groups]` int64."""
    listed = np.diff(visits.offsets)
    of_row = np.repeat(np.arange(len(listed)), listed)
    counted = np.bincount(of_row, visits.counts, len(listed)) > 0
    shown = np.flatnonzero(counted | (listed == 0))
    groups, at = np.unique(group[shown], return_index=True)
    chosen = first.copy()
    chosen[groups] = shown[at]
    return chosen


def _mean_of_known(values: NDArray[Any], group: NDArray[np.int64], size: int) -> NDArray[np.float32]:
    """The mean of each group's values that are not NaN; NaN in a group without any."""
    known = ~np.isnan(values)
    number = np.bincount(group, known, size)
    total = np.bincount(group, np.where(known, values, 0), size)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan).astype(np.float32)


def _action_counts(
    rows: Rows, group: NDArray[np.int64], size: int
) -> tuple[Visits, Bytes, NDArray[np.bool_]]:
    """Counts of the actions of each group, the most frequent action, and whether any count is above 0."""
    if rows.visits is None:
        entry_group, actions, counts = group, rows.label, np.ones(len(rows), np.int64)
    else:
        listed = np.diff(rows.visits.offsets)
        bare = np.flatnonzero(listed == 0)  # rows without a search: all weight on the action played
        of_row = np.repeat(np.arange(len(rows)), listed)
        total = np.maximum(np.bincount(of_row, rows.visits.counts, len(rows)), 1)
        shares = np.rint(rows.visits.counts / total[of_row] * SHARES).astype(np.int64)
        entry_group = np.concatenate([group[of_row], group[bare]])
        actions = np.concatenate([rows.visits.labels, rows.label[bare]])
        counts = np.concatenate([shares, np.full(len(bare), SHARES)])
    cells, at = np.unique(entry_group * ACTIONS + actions, return_inverse=True)
    played = np.bincount(at, counts).astype(np.uint32)
    cell_group, cell_action = cells // ACTIONS, (cells % ACTIONS).astype(np.uint8)
    offsets = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(cell_group, minlength=size), out=offsets[1:])
    order = np.lexsort((cell_action, -played.astype(np.int64), cell_group))
    most = order[offsets[:-1]]
    return Visits(offsets, cell_action, played), cell_action[most], played[most] > 0
