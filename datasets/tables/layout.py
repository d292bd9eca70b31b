"""The material classes of tables: where each begins, and the order in which they can be solved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables.index import MAX_PIECES, STARTS, class_key, class_size, make_lookup


class Material(NamedTuple):
    """A material class: the pieces on the board, the side to move first."""

    men: int
    kings: int
    other_men: int
    other_kings: int

    @property
    def pieces(self) -> int:
        """Number of pieces on the board."""
        return sum(self)

    @property
    def swapped(self) -> "Material":
        """The same material with the other side to move."""
        return Material(self.other_men, self.other_kings, self.men, self.kings)


class TableLayout(NamedTuple):
    """Where the values of each class are, in one array for all classes up to a number of pieces."""

    pieces: int
    classes: tuple[Material, ...]
    """In the order of their values."""
    sizes: tuple[int, ...]
    """Number of positions of each class."""
    positions: int
    """Number of positions of all classes."""
    lookup: NDArray[np.int64]
    """Lookup tables that turn a position into its index among the values; `ckai.datasets.tables.index`."""

    def part(self, values: NDArray[np.uint8], of: Material) -> NDArray[np.uint8]:
        """A view of the values of one class."""
        start = int(self.lookup[STARTS + class_key(*of)])
        return values[start : start + self.sizes[self.classes.index(of)]]


def make_layout(pieces: int) -> TableLayout:
    """The layout of tables for up to `pieces` pieces, 2 to 6; ValueError for others."""
    if not 2 <= pieces <= MAX_PIECES:
        raise ValueError(f"expected tables of 2 to {MAX_PIECES} pieces, found {pieces}")
    lookup = make_lookup()
    classes = [of for number in range(2, pieces + 1) for of in _classes(number)]
    sizes, at = [], 0
    for of in classes:
        lookup[STARTS + class_key(*of)] = at
        sizes.append(int(class_size(*of, lookup)))
        at += sizes[-1]
    return TableLayout(pieces, tuple(classes), tuple(sizes), at, lookup)


def levels(pieces: int) -> list[list[Material]]:
    """One class of each pair (a class and the same with sides exchanged), in groups that depend only on
    earlier groups.

    A capture leaves fewer pieces, a crowning fewer men.
    """
    groups = []
    for number in range(2, pieces + 1):
        for men in range(number + 1):
            level = [of for of in _classes(number) if of.men + of.other_men == men and of <= of.swapped]
            groups.append(level)
    return groups


def _classes(pieces: int) -> list[Material]:
    return [
        Material(men, side - men, other_men, pieces - side - other_men)
        for side in range(1, pieces)
        for men in range(side + 1)
        for other_men in range(pieces - side + 1)
    ]
