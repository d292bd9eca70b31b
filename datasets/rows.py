"""Rows in memory: numpy arrays, one entry a hop, compact and without a Python object per row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Index: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Visits:
    """Visit counts of a search, ragged: row i has the entries `offsets[i]` to `offsets[i + 1]`."""

    offsets: Index
    """`[N + 1]` int64, ascending from 0."""
    labels: Bytes
    """`[entries]` uint8, move labels."""
    counts: NDArray[np.uint32]
    """`[entries]` uint32."""

    def take(self, index: Index) -> "Visits":
        """The rows named by `index`, in its order."""
        starts = self.offsets[index]
        lengths = self.offsets[index + 1] - starts
        offsets = np.zeros(len(index) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        entries = np.repeat(starts - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Visits(offsets, self.labels[entries], self.counts[entries])

    def dense(self, label: Bytes, actions: int) -> NDArray[np.float32]:
        """`[N, actions]` float32: shares of the visits, or the action played where no visits are listed.

        Rows sum to 1; a row whose visits are all 0 (a search too short to learn from) stays 0.
        """
        listed = np.diff(self.offsets)
        rows = np.repeat(np.arange(len(label)), listed)
        policy = np.zeros((len(label), actions), np.float32)
        np.add.at(policy, (rows, self.labels), self.counts)
        total = policy.sum(1, keepdims=True)
        empty = np.flatnonzero(listed == 0)
        policy[empty, label[empty]] = 1
        total[total == 0] = 1
        policy /= total
        return policy


@dataclass(frozen=True)
class Rows:
    """N rows; the columns of the row format that training and measuring use. Everything in mover's view."""

    game: NDArray[np.int32]
    """`[N]` int32, number of the game in its source."""
    ply: NDArray[np.int16]
    """`[N]` int16, half-move from 0."""
    board: NDArray[np.int8]
    """`[N, 32]` int8: 1 own man, 3 own king, -1 / -3 the other's, 0 empty."""
    jumper: NDArray[np.int8]
    """`[N]` int8, index of the piece that must go on, -1 if none."""
    quiet: NDArray[np.int16]
    """`[N]` int16, plies since the last capture or man's move."""
    legal: Bytes
    """`[N, mask bytes]` uint8, little-endian bits: bit i = action i is legal; 16 bytes in checkers."""
    label: Bytes
    """`[N]` uint8, the label played."""
    z: NDArray[np.int8] | NDArray[np.float32]
    """`[N]` int8, result for the mover, 0 where it is not known; a float32 mean where positions were
    merged."""
    z_known: NDArray[np.bool_]
    """`[N]` bool, whether the result is known."""
    q: NDArray[np.float32] | None = None
    """`[N]` float32, the search's value for the mover, NaN where there was none; None: no row has one."""
    visits: Visits | None = None
    """What the search visited; None: no row has any."""
    surprise: NDArray[np.float32] | None = None
    """`[N]` float32, 0 or more: how far the visits are from what the network said, 0 where nobody knows;
    None: of no row."""

    def __len__(self) -> int:
        return len(self.label)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        arrays = [v for v in vars(self).values() if isinstance(v, np.ndarray)]
        if self.visits is not None:
            arrays += vars(self.visits).values()
        return sum(array.nbytes for array in arrays)

    def take(self, index: Index) -> "Rows":
        """The rows named by `index`, in its order."""
        return Rows(
            self.game[index],
            self.ply[index],
            self.board[index],
            self.jumper[index],
            self.quiet[index],
            self.legal[index],
            self.label[index],
            self.z[index],
            self.z_known[index],
            None if self.q is None else self.q[index],
            None if self.visits is None else self.visits.take(index),
            None if self.surprise is None else self.surprise[index],
        )

    def legal_mask(self) -> NDArray[np.bool_]:
        """`[N, 8 * mask bytes]` bool, True where the action is legal."""
        return np.unpackbits(self.legal, axis=1, bitorder="little").view(np.bool_)


def concatenate(parts: Sequence[Rows]) -> Rows:
    """One block of rows from several; the parts with a search and those without may be mixed.

    Raises:
        ValueError: if there are no parts.
    """
    if not parts:
        raise ValueError("expected at least one part")
    if len(parts) == 1:
        return parts[0]
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("game", "ply", "board", "jumper", "quiet", "legal", "label", "z", "z_known")
    }
    q, visits, surprise = None, None, None
    if any(part.q is not None for part in parts):
        q = np.concatenate([np.full(len(p), np.nan, np.float32) if p.q is None else p.q for p in parts])
    if any(part.visits is not None for part in parts):
        visits = _concatenate_visits(parts)
    if any(part.surprise is not None for part in parts):
        surprise = np.concatenate(
            [np.zeros(len(p), np.float32) if p.surprise is None else p.surprise for p in parts]
        )
    return Rows(**columns, q=q, visits=visits, surprise=surprise)


def _concatenate_visits(parts: Sequence[Rows]) -> Visits:
    lengths = [np.zeros(len(p), np.int64) if p.visits is None else np.diff(p.visits.offsets) for p in parts]
    offsets = np.zeros(sum(map(len, lengths)) + 1, np.int64)
    np.cumsum(np.concatenate(lengths), out=offsets[1:])
    some = [p.visits for p in parts if p.visits is not None]
    return Visits(offsets, np.concatenate([v.labels for v in some]), np.concatenate([v.counts for v in some]))
