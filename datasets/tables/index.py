"""Where each position is in the tables, in memory and in files: every placement has a number, without gaps.

A class is (own men, own kings, the other's men, the other's kings), in mover's view. Within a class, a
placement is numbered by the combinatorial number system: own men on rows 0 to 6, the other's men on rows 1
to 7 not occupied by own men, then own kings and the other's kings on the squares left.

Files are checksummed, written whole, and mapped into memory, so that processes share them:

b"ckai tables 2\\n"    the format
8 hexadecimal digits, \\n   CRC-32 of all that follows
JSON, \\n             pieces, counts
values                one byte a position, in the order of `TableLayout`
"""

import json
import zlib
from math import comb
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import whole_file
from ckai.game.jit import inner, quick_kernel
from ckai.game.kernels import lowest, popcount

FORMAT = b"ckai tables 2\n"
MAX_PIECES = 6
"""Most pieces that can be indexed."""
MEN_SQUARES = 28
_SIDE = MAX_PIECES  # a side has 1 to MAX_PIECES - 1 pieces

KEYS = 4096
"""Upper bound of class keys, see `class_key`."""

# Where the parts of a lookup begin; it is one int64 array, so that a search can pass it on cheaply.
_WIDTH = MAX_PIECES + 1
_MEN_AT = 33 * _WIDTH
"""Before it, `[33, 7]`: ways to choose k of n. Here, `[6, 6]`: where the part for each number
of own men and of the other's men begins."""
_MEN_TOTAL = _MEN_AT + _SIDE * _SIDE
"""`[6, 6]`: placements of both sides' men."""
STARTS = _MEN_TOTAL + _SIDE * _SIDE
"""`[KEYS]`: where the values of a class begin, -1 if there are none. After it, for each placement of own
men, how many placements of both sides' men come before it."""


@inner
def _choose(n, k, lookup):
    """Ways to choose k of n."""
    return lookup[n * _WIDTH + k]


@quick_kernel
def class_key(m1, k1, m2, k2):
    """The number of a class, below `KEYS`."""
    return ((m1 * 8 + k1) * 8 + m2) * 8 + k2


@quick_kernel
def _unrank(rank, pieces, squares, lookup):
    """The `rank`-th set of `pieces` of the numbers below `squares`, as bits."""
    chosen = np.int64(0)
    at = squares
    for k in range(pieces, 0, -1):
        at -= 1
        while _choose(at, k, lookup) > rank:
            at -= 1
        rank -= _choose(at, k, lookup)
        chosen |= np.int64(1) << at
    return chosen


@inner
def _rank(pieces, taken, lookup):
    """The rank of a set of squares among all sets of its size that avoid `taken`."""
    rank = np.int64(0)
    k = 0
    while pieces:
        at = lowest(pieces)
        pieces &= pieces - 1
        k += 1
        rank += _choose(at - popcount(taken & ((np.int64(1) << at) - 1)), k, lookup)
    return rank


@inner
def _on_free_squares(pieces, taken):
    """Squares from a set of indices of free squares: the i-th free one for each bit i."""
    squares = np.int64(0)
    number = 0
    for at in range(32):
        bit = np.int64(1) << at
        if taken & bit:
            continue
        if pieces >> number & 1:
            squares |= bit
        number += 1
    return squares


@quick_kernel
def class_size(m1, k1, m2, k2, lookup):
    """Number of placements in a class."""
    left = 32 - m1 - m2
    men = lookup[_MEN_TOTAL + m1 * _SIDE + m2]
    return men * _choose(left, k1, lookup) * _choose(left - k1, k2, lookup)


@quick_kernel
def rank_position(own, opp, kings, lookup):
    """The index of a placement within its class; see the module's docstring."""
    own_men, opp_men = own & ~kings, opp & ~kings
    own_kings, opp_kings = own & kings, opp & kings
    m1, m2, k1, k2 = popcount(own_men), popcount(opp_men), popcount(own_kings), popcount(opp_kings)
    men = lookup[lookup[_MEN_AT + m1 * _SIDE + m2] + _rank(own_men, np.int64(0), lookup)]
    men += _rank(opp_men >> 4, own_men >> 4, lookup)
    taken = own_men | opp_men
    left = 32 - m1 - m2
    number = men * _choose(left, k1, lookup) + _rank(own_kings, taken, lookup)
    return number * _choose(left - k1, k2, lookup) + _rank(opp_kings, taken | own_kings, lookup)


@quick_kernel
def unrank_position(number, m1, k1, m2, k2, lookup):
    """(own, opp, kings) of the placement with this index in a class: the inverse of `rank_position`."""
    left = 32 - m1 - m2
    ways = _choose(left - k1, k2, lookup)
    fourth, number = number % ways, number // ways
    ways = _choose(left, k1, lookup)
    third, men = number % ways, number // ways
    # The last placement of own men with no more than `men` before it.
    start = lookup[_MEN_AT + m1 * _SIDE + m2]
    low, high = np.int64(0), _choose(MEN_SQUARES, m1, lookup) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if lookup[start + middle] <= men:
            low = middle
        else:
            high = middle - 1
    own_men = _unrank(low, m1, MEN_SQUARES, lookup)
    free = MEN_SQUARES - popcount(own_men >> 4)
    opp_men = _on_free_squares(_unrank(men - lookup[start + low], m2, free, lookup), own_men >> 4) << 4
    taken = own_men | opp_men
    own_kings = _on_free_squares(_unrank(third, k1, left, lookup), taken)
    taken |= own_kings
    opp_kings = _on_free_squares(_unrank(fourth, k2, left - k1, lookup), taken)
    return own_men | own_kings, opp_men | opp_kings, own_kings | opp_kings


def make_lookup() -> NDArray[np.int64]:
    """Build the lookup tables, with no class assigned a start yet."""
    lookup = np.full(STARTS + KEYS, -1, np.int64)
    ways = np.array([[comb(n, k) for k in range(_WIDTH)] for n in range(33)])
    lookup[:_MEN_AT] = ways.ravel()
    parts = [lookup]
    at = len(lookup)
    # For each set of own men, in the order of `_unrank`, how many of them stand where the other's men can.
    shared = np.zeros(1, np.int64)
    for m1 in range(_SIDE):
        placements = comb(MEN_SQUARES, m1)
        if m1:
            # By the highest square: below it, the sets of one man less that fit, which come first.
            shared = np.concatenate([shared[: comb(top, m1 - 1)] + (top >= 4) for top in range(MEN_SQUARES)])
        free = MEN_SQUARES - shared
        for m2 in range(_SIDE - m1):
            ahead = np.cumsum(ways[free, m2])
            lookup[_MEN_AT + m1 * _SIDE + m2] = at
            lookup[_MEN_TOTAL + m1 * _SIDE + m2] = ahead[-1]
            parts.append(ahead - ways[free, m2])
            at += placements
    return np.concatenate(parts)


class Material(NamedTuple):
    """A material class: the pieces on the board, the side to move first."""

    men: int
    kings: int
    other_men: int
    other_kings: int

    @property
    def swapped(self) -> "Material":
        """The same material with the other side to move."""
        return Material(self.other_men, self.other_kings, self.men, self.kings)


class TableLayout(NamedTuple):
    """Where the values of each class are, in one array for all classes up to a number of pieces."""

    pieces: int
    classes: dict[Material, int]
    """The number of positions of each class, in the order of their values."""
    positions: int
    """Number of positions of all classes."""
    lookup: NDArray[np.int64]
    """Lookup tables that turn a position into its index among the values, see `rank_position`."""

    def part(self, values: NDArray[np.uint8], of: Material) -> NDArray[np.uint8]:
        """A view of the values of one class."""
        start = int(self.lookup[STARTS + class_key(*of)])
        return values[start : start + self.classes[of]]


def make_layout(pieces: int) -> TableLayout:
    """The layout of tables for up to `pieces` pieces, 2 to 6; ValueError for others."""
    if not 2 <= pieces <= MAX_PIECES:
        raise ValueError(f"expected tables of 2 to {MAX_PIECES} pieces, found {pieces}")
    lookup, classes, at = make_lookup(), {}, 0
    for number in range(2, pieces + 1):
        for side in range(1, number):
            for men in range(side + 1):
                for other_men in range(number - side + 1):
                    of = Material(men, side - men, other_men, number - side - other_men)
                    lookup[STARTS + class_key(*of)] = at
                    classes[of] = int(class_size(*of, lookup))
                    at += classes[of]
    return TableLayout(pieces, classes, at, lookup)


def write_tables(path: Path, values: NDArray[np.uint8], header: dict[str, Any]) -> None:
    """Write values, see `ckai.datasets.tables.solve`, and a header with `pieces`, atomically."""
    text = json.dumps(header).encode() + b"\n"
    with whole_file(path) as file:
        file.write(FORMAT + f"{zlib.crc32(values.data, zlib.crc32(text)):08x}\n".encode() + text)
        file.write(values.data)


def read_tables(path: Path) -> tuple[TableLayout, NDArray[np.uint8], dict[str, Any]]:
    """Verify a table file; return layout, values mapped into memory, and header; ValueError if damaged."""
    command = f"ckai tables build --pieces {path.stem.removeprefix('tables-')}"
    try:
        with path.open("rb") as file:
            start, checksum, text = file.readline(len(FORMAT)), file.readline(16), file.readline()
            at, size = file.tell(), path.stat().st_size
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; `{command}` builds it") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error})") from error
    again = f"build it again with `{command} --force`"
    if start != FORMAT:
        found = start.decode("ascii", "replace").strip()
        raise ValueError(f"{path}: expected {FORMAT.decode().strip()!r}, found {found!r}; {again}")
    # Copy-on-write, not read-only: Numba would compile every kernel again for read-only arrays.
    values = np.asarray(np.memmap(path, np.uint8, "c", at)) if at < size else np.empty(0, np.uint8)
    found = f"{zlib.crc32(values.data, zlib.crc32(text)):08x}"
    if found.encode() != checksum.strip():
        expected = checksum.decode("ascii", "replace").strip()
        raise ValueError(
            f"{path}: expected the checksum {expected}, found {found}: the file is damaged or cut short; "
            f"{again}"
        )
    header: dict[str, Any] = json.loads(text)
    return make_layout(header["pieces"]), values, header
