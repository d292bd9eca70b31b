"""Which classes of pieces tables hold, where each begins, and in what order they can be solved."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.game.tables.index import MOST, Numbering, class_size, make_numbering
from ckai.game.tables.solve import class_key


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
    starts: NDArray[np.int64]
    """`[4096]`: where the class of a key begins, -1 if there is none."""
    positions: int
    """Of all classes."""
    numbering: Numbering

    def part(self, values: NDArray[np.uint8], of: Class) -> NDArray[np.uint8]:
        """The values of one class."""
        start = int(self.starts[class_key(*of)])
        return values[start : start + self.sizes[self.classes.index(of)]]


def make_layout(pieces: int) -> Layout:
    """The layout of tables for `pieces` pieces or fewer.

    Raises:
        ValueError: fewer than 2 or more than 6.
    """
    if not 2 <= pieces <= MOST:
        raise ValueError(f"expected tables of 2 to {MOST} pieces, found {pieces}")
    numbering = make_numbering()
    classes = [of for number in range(2, pieces + 1) for of in _classes(number)]
    starts = np.full(4096, -1, np.int64)
    sizes, at = [], 0
    for of in classes:
        starts[class_key(*of)] = at
        sizes.append(int(class_size(*of, numbering)))
        at += sizes[-1]
    return Layout(pieces, tuple(classes), tuple(sizes), starts, at, numbering)


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
