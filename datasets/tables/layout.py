"""Which classes of pieces tables hold, where each begins, and in what order they can be solved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables.index import MOST, STARTS, class_key, class_size, make_lookup


class Class(NamedTuple):
    """Pieces on the board, the side to move first."""

    men: int
    kings: int
    other_men: int
    other_kings: int

    @property
    def pieces(self) -> int:
        """On the board."""
        return sum(self)

    @property
    def turned(self) -> "Class":
        """The same with the other side to move."""
        return Class(self.other_men, self.other_kings, self.men, self.kings)

    def __str__(self) -> str:
        return f"{_side(self.men, self.kings)}-{_side(self.other_men, self.other_kings)}"


class Layout(NamedTuple):
    """Where the values of all classes up to a number of pieces lie in one array."""

    pieces: int
    classes: tuple[Class, ...]
    """In the order of their values."""
    sizes: tuple[int, ...]
    """Positions of each class."""
    positions: int
    """Of all classes."""
    lookup: NDArray[np.int64]
    """What a position's place among the values is looked up in, see `ckai.datasets.tables.index`."""

    def part(self, values: NDArray[np.uint8], of: Class) -> NDArray[np.uint8]:
        """The values of one class."""
        start = int(self.lookup[STARTS + class_key(*of)])
        return values[start : start + self.sizes[self.classes.index(of)]]


def make_layout(pieces: int) -> Layout:
    """The layout of tables for `pieces` pieces or fewer.

    Raises:
        ValueError: fewer than 2 or more than 6.
    """
    if not 2 <= pieces <= MOST:
        raise ValueError(f"expected tables of 2 to {MOST} pieces, found {pieces}")
    lookup = make_lookup()
    classes = [of for number in range(2, pieces + 1) for of in _classes(number)]
    sizes, at = [], 0
    for of in classes:
        lookup[STARTS + class_key(*of)] = at
        sizes.append(int(class_size(*of, lookup)))
        at += sizes[-1]
    return Layout(pieces, tuple(classes), tuple(sizes), at, lookup)


def levels(pieces: int) -> list[list[Class]]:
    """One class of each pair, in groups that need only the groups before them.

    A capture leaves fewer pieces, and a crowning fewer men.
    """
    found = []
    for number in range(2, pieces + 1):
        for men in range(number + 1):
            level = [of for of in _classes(number) if of.men + of.other_men == men and of <= of.turned]
            found.append(level)
    return found


def _classes(pieces: int) -> list[Class]:
    return [
        Class(men, side - men, other_men, pieces - side - other_men)
        for side in range(1, pieces)
        for men in range(side + 1)
        for other_men in range(pieces - side + 1)
    ]


def _side(men: int, kings: int) -> str:
    return "K" * kings + "m" * men
