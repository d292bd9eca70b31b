"""Sets of points of a 9x9 board as bit boards, in Numba.

A set is two int64, (low, high): bit 9 * row + column of `low` for rows 0 to 6, bit 9 * (row - 7) + column of
`high` for rows 7 and 8. Row 0 is at the bottom, so a point is its number 9 * row + column. Chains are filled
a ring at a time, all four directions at once.
"""

import numpy as np

from ckai.game.jit import hot, inner
from ckai.game.kernels import popcount

SIZE = 9
"""Rows and columns."""
POINTS = SIZE * SIZE
"""Points of the board."""
LOW_POINTS = 7 * SIZE
"""Points in the first word of a set."""
LOW, HIGH = (1 << LOW_POINTS) - 1, (1 << POINTS - LOW_POINTS) - 1
"""The set of all points."""

_ROW = (1 << SIZE) - 1
_FIRST = sum(1 << SIZE * row for row in range(7))
_LOW_BUT_FIRST, _HIGH_BUT_FIRST = LOW & ~_FIRST, HIGH & ~_FIRST
_TOP = LOW_POINTS - SIZE
"""The bit of the first point of the highest row in `low`."""


@hot
def around(low, high):
    """Return the points next to those of a set, which may hold points of the set."""
    east, west = low << 1 & _LOW_BUT_FIRST, (low & _LOW_BUT_FIRST) >> 1
    north, south = low << SIZE & LOW, low >> SIZE | (high & _ROW) << _TOP
    high_east, high_west = high << 1 & _HIGH_BUT_FIRST, (high & _HIGH_BUT_FIRST) >> 1
    high_north, high_south = high << SIZE & HIGH | low >> _TOP, high >> SIZE
    return east | west | north | south, high_east | high_west | high_north | high_south


@inner
def flood(low, high, within_low, within_high):
    """Return the points of `within` that are connected in it with the points of a set, which lie in it."""
    while True:
        more_low, more_high = around(low, high)
        more_low = low | more_low & within_low
        more_high = high | more_high & within_high
        if more_low == low and more_high == high:
            return low, high
        low, high = more_low, more_high


@hot
def point(at):
    """Return the set of one point, 0 to 80."""
    if at < LOW_POINTS:
        return np.int64(1) << at, np.int64(0)
    return np.int64(0), np.int64(1) << at - LOW_POINTS


@hot
def lowest_point(low, high):
    """Return the set of the lowest point of a set that is not empty."""
    if low:
        return low & -low, np.int64(0)
    return np.int64(0), high & -high


@hot
def size(low, high):
    """Return the number of points of a set."""
    return popcount(low) + popcount(high)


@inner
def captured(at_low, at_high, own_low, own_high, other_low, other_high):
    """Return the stones of `other` that a stone of `own` at one empty point takes.

    Args:
        at_low, at_high: the set of the point.
        own_low, own_high: own stones, with or without the new one.
        other_low, other_high: the other side's stones.
    """
    taken_low, taken_high = np.int64(0), np.int64(0)
    empty_low = LOW & ~(own_low | other_low | at_low)
    empty_high = HIGH & ~(own_high | other_high | at_high)
    left_low, left_high = around(at_low, at_high)
    left_low, left_high = left_low & other_low, left_high & other_high
    while left_low | left_high:
        seed_low, seed_high = lowest_point(left_low, left_high)
        chain_low, chain_high = flood(seed_low, seed_high, other_low, other_high)
        free_low, free_high = around(chain_low, chain_high)
        if not (free_low & empty_low | free_high & empty_high):
            taken_low |= chain_low
            taken_high |= chain_high
        left_low, left_high = left_low & ~chain_low, left_high & ~chain_high
    return taken_low, taken_high


@inner
def playable(own_low, own_high, other_low, other_high):
    """Return the empty points where a stone of `own` has a liberty after its captures: no suicide."""
    empty_low = LOW & ~(own_low | other_low)
    empty_high = HIGH & ~(own_high | other_high)
    open_low, open_high = around(empty_low, empty_high)
    open_low, open_high = open_low & empty_low, open_high & empty_high
    closed_low, closed_high = empty_low & ~open_low, empty_high & ~open_high
    if not (closed_low | closed_high):
        return open_low, open_high
    # A point without an empty one next to it is open next to an own chain with another liberty, and next to a
    # chain of the other side whose last liberty it is.
    near_low, near_high = around(closed_low, closed_high)
    more_low, more_high = liberties(near_low, near_high, own_low, own_high, empty_low, empty_high, False)
    last_low, last_high = liberties(near_low, near_high, other_low, other_high, empty_low, empty_high, True)
    return open_low | more_low | last_low, open_high | more_high | last_high


@inner
def liberties(near_low, near_high, low, high, empty_low, empty_high, last):
    """Return the liberties of chains with a stone on certain points that have several of them, or one alone.

    Args:
        near_low, near_high: the set of the points.
        low, high: the stones of a side.
        empty_low, empty_high: the empty points.
        last: True: of the chains with one liberty; False: of those with several.
    """
    found_low, found_high = np.int64(0), np.int64(0)
    left_low, left_high = near_low & low, near_high & high
    while left_low | left_high:
        seed_low, seed_high = lowest_point(left_low, left_high)
        chain_low, chain_high = flood(seed_low, seed_high, low, high)
        free_low, free_high = around(chain_low, chain_high)
        free_low, free_high = free_low & empty_low, free_high & empty_high
        count = size(free_low, free_high)
        if count == 1 if last else count > 1:
            found_low |= free_low
            found_high |= free_high
        left_low, left_high = left_low & ~chain_low, left_high & ~chain_high
    return found_low, found_high


@inner
def alive(own_low, own_high, other_low, other_high):
    """Return the stones of `own` whose chains have a liberty."""
    low, high = around(LOW & ~(own_low | other_low), HIGH & ~(own_high | other_high))
    return flood(low & own_low, high & own_high, own_low, own_high)


@inner
def area(black_low, black_high, white_low, white_high):
    """Return the area of Black less that of White: stones, and empty points that reach one colour only.

    The scoring of Tromp and Taylor, https://tromp.github.io/go.html.
    """
    empty_low = LOW & ~(black_low | white_low)
    empty_high = HIGH & ~(black_high | white_high)
    low, high = around(black_low, black_high)
    black_low, black_high = flood(low & empty_low | black_low, high & empty_high | black_high,
                                  empty_low | black_low, empty_high | black_high)  # fmt: skip
    low, high = around(white_low, white_high)
    white_low, white_high = flood(low & empty_low | white_low, high & empty_high | white_high,
                                  empty_low | white_low, empty_high | white_high)  # fmt: skip
    return size(black_low & ~white_low, black_high & ~white_high) - size(
        white_low & ~black_low, white_high & ~black_high
    )
