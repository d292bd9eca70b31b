"""Rows in memory: numpy columns, one entry a hop; see `ckai.datasets.schema` for the columns' names."""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Index: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Visits:
    """Visit counts of searches, ragged: row i has the entries `offsets[i]` to `offsets[i + 1]`."""

    offsets: Index
    """`[N + 1]` int64, ascending from 0."""
    labels: Bytes
    """`[entries]` uint8, actions."""
    counts: NDArray[np.uint32]
    """`[entries]` uint32, visits of each action."""

    def take(self, index: Index) -> "Visits":
        """The rows at `index`, numbers in any order."""
        starts = self.offsets[index]
        lengths = self.offsets[index + 1] - starts
        offsets = np.zeros(len(index) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        picked = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Visits(offsets, self.labels[picked], self.counts[picked])

    def padded(self, label: Bytes) -> tuple[Bytes, NDArray[np.float32]]:
        """The visit counts as policy targets, as many entries for each row as the longest one lists.

        Args:
            label: `[N]` uint8, the action played; gets all the weight where a row lists no visits.

        Returns:
            `[N, K]` uint8 actions, and `[N, K]` float32 shares of the visits. Shares of a row sum to 1,
            except that a row whose counts are all 0 (a search too short to learn from) is all 0.
        """
        listed = np.diff(self.offsets)
        rows = np.repeat(np.arange(len(label)), listed)
        at = rows, np.arange(len(rows)) - self.offsets[rows]
        actions = np.zeros((len(label), max(1, listed.max(initial=0))), np.uint8)
        counts = np.zeros(actions.shape, np.float32)
        actions[at], counts[at] = self.labels, self.counts
        actions[listed == 0, 0], counts[listed == 0, 0] = label[listed == 0], 1
        return actions, counts / np.maximum(counts.sum(1, keepdims=True), 1)


@dataclass(frozen=True)
class Rows:
    """N rows: the columns that training and evaluation use, everything in the view of the side to move.

    `len(rows)` is N. Columns read from a file are read-only.
    """

    game: NDArray[np.int32]
    """`[N]` int32, number of the game in its file."""
    ply: NDArray[np.int16]
    """`[N]` int16, 0-based half-move."""
    hop: NDArray[np.int8]
    """`[N]` int8, 0-based within the move."""
    black: NDArray[np.bool_]
    """`[N]` bool, whether Black is to move."""
    board: NDArray[np.int8]
    """`[N, 32]` int8: 1 own man, 3 own king, -1 / -3 the other's, 0 empty; other games: all their
    squares."""
    jumper: NDArray[np.int8]
    """`[N]` int8, index of the piece that must continue a capture, -1 if none."""
    quiet: NDArray[np.int16]
    """`[N]` int16, halfmove clock: plies since the last capture or man's move."""
    legal: Bytes
    """`[N, mask bytes]` uint8, little-endian bits: bit i: action i is legal; 16 bytes in checkers."""
    label: Bytes
    """`[N]` uint8, the action played."""
    z: NDArray[np.int8]
    """`[N]` int8 result for the side to move: 1, 0, -1, and 0 where unknown."""
    z_known: NDArray[np.bool_]
    """`[N]` bool, whether the result is known."""
    q: NDArray[np.float32] | None = None
    """`[N]` float32 in [-1, 1], the search's value for the side to move, NaN for rows without a search; None
    if no row has one."""
    visits: Visits | None = None
    """The search's visit counts; None if no row has any."""

    def __len__(self) -> int:
        return len(self.label)

    def take(self, index: Any) -> "Rows":
        """The rows at `index`, in its order: numbers, a mask, or a slice, whose columns share memory."""
        columns = {name: c[index] for name, c in vars(self).items() if isinstance(c, np.ndarray)}
        visits = None if self.visits is None else self.visits.take(np.arange(len(self))[index])
        return replace(self, **columns, visits=visits)

    def legal_mask(self) -> NDArray[np.bool_]:
        """`[N, 8 * mask bytes]` bool, True where the action is legal."""
        return np.unpackbits(self.legal, axis=1, bitorder="little").view(np.bool_)


def concatenate(parts: Sequence[Rows]) -> Rows:
    """Join parts, one or more, one after the other; parts with and without a search may be mixed."""
    if not parts:
        raise ValueError("expected at least one part")
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in (field.name for field in fields(Rows) if field.default is MISSING)
    }
    q, visits = None, None
    if any(part.q is not None for part in parts):
        q = np.concatenate([np.full(len(p), np.nan, np.float32) if p.q is None else p.q for p in parts])
    if any(part.visits is not None for part in parts):
        listed = [np.zeros(len(p), int) if p.visits is None else np.diff(p.visits.offsets) for p in parts]
        offsets = np.cumsum(np.concatenate([[0], *listed]), dtype=np.int64)
        some = [p.visits for p in parts if p.visits is not None]
        labels, counts = (np.concatenate([getattr(v, name) for v in some]) for name in ("labels", "counts"))
        visits = Visits(offsets, labels, counts)
    return Rows(**columns, q=q, visits=visits)
