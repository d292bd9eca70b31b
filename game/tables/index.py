"""A number for every placement of few pieces: exact and without holes, class by class.

A class is (own men, own kings, the other's men, the other's kings), the side to move's view. Within a class a
placement is numbered by the combinatorial number system: own men on rows 0 to 6, the other's men on rows 1
to 7 where no own man stands, then own kings and the other's kings on what squares are left.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ckai.game.kernels import lowest, popcount

MOST = 6
"""Pieces of the largest tables that numbers are made for."""
MEN_SQUARES = 28
_SIDE = MOST  # a side has 1 to MOST - 1 pieces

BINOMIAL = np.array([[0] * (MOST + 1)] * 33, np.int64)
"""`[n, k]`: ways to choose k of n."""
for _n in range(33):
    for _k in range(MOST + 1):
        BINOMIAL[_n, _k] = 1 if _k == 0 else 0 if _n == 0 else BINOMIAL[_n - 1, _k - 1] + BINOMIAL[_n - 1, _k]


class Numbering(NamedTuple):
    """What `index_of` and `place` look up."""

    binomial: np.ndarray
    """`[33, 7]` int64."""
    men_at: np.ndarray
    """`[6, 6]` int64: where the numbers of a class's men begin in `men`, by own men and the other's."""
    men: np.ndarray
    """int64: for each placement of own men, how many placements of both sides' men come before it."""
    men_total: np.ndarray
    """`[6, 6]` int64: placements of both sides' men."""


@njit(cache=True)
def _spread(rank, pieces, squares, binomial):
    """The `rank`-th set of `pieces` of the numbers below `squares`, as bits."""
    found = np.int64(0)
    at = squares
    for k in range(pieces, 0, -1):
        at -= 1
        while binomial[at, k] > rank:
            at -= 1
        rank -= binomial[at, k]
        found |= np.int64(1) << at
    return found


@njit(cache=True)
def _rank(pieces, taken, binomial):
    """The number of a set of squares among all sets of so many squares that are not `taken`."""
    rank = np.int64(0)
    k = 0
    while pieces:
        at = lowest(pieces)
        pieces &= pieces - 1
        k += 1
        rank += binomial[at - popcount(taken & ((np.int64(1) << at) - 1)), k]
    return rank


@njit(cache=True)
def _open(pieces, taken):
    """A set of numbers of free squares as squares: the i-th free one for each bit i."""
    found = np.int64(0)
    number = 0
    for at in range(32):
        bit = np.int64(1) << at
        if taken & bit:
            continue
        if pieces >> number & 1:
            found |= bit
        number += 1
    return found


@njit(cache=True)
def class_size(m1, k1, m2, k2, numbering):
    """Placements of a class."""
    left = 32 - m1 - m2
    return numbering.men_total[m1, m2] * numbering.binomial[left, k1] * numbering.binomial[left - k1, k2]


@njit(cache=True)
def index_of(own, opp, kings, numbering):
    """The number of a placement within its class; see the module's page."""
    binomial = numbering.binomial
    own_men, opp_men = own & ~kings, opp & ~kings
    own_kings, opp_kings = own & kings, opp & kings
    m1, m2, k1, k2 = popcount(own_men), popcount(opp_men), popcount(own_kings), popcount(opp_kings)
    men = numbering.men[numbering.men_at[m1, m2] + _rank(own_men, np.int64(0), binomial)]
    men += _rank(opp_men >> 4, own_men >> 4, binomial)
    taken = own_men | opp_men
    left = 32 - m1 - m2
    number = men * binomial[left, k1] + _rank(own_kings, taken, binomial)
    return number * binomial[left - k1, k2] + _rank(opp_kings, taken | own_kings, binomial)


@njit(cache=True)
def place(number, m1, k1, m2, k2, numbering):
    """(own, opp, kings) of the placement of a class that has this number."""
    binomial = numbering.binomial
    left = 32 - m1 - m2
    ways = binomial[left - k1, k2]
    fourth, number = number % ways, number // ways
    ways = binomial[left, k1]
    third, men = number % ways, number // ways
    # The last placement of own men with no more than `men` before it.
    start = numbering.men_at[m1, m2]
    low, high = np.int64(0), binomial[MEN_SQUARES, m1] - 1
    while low < high:
        middle = (low + high + 1) // 2
        if numbering.men[start + middle] <= men:
            low = middle
        else:
            high = middle - 1
    own_men = _spread(low, m1, MEN_SQUARES, binomial)
    free = MEN_SQUARES - popcount(own_men >> 4)
    opp_men = _open(_spread(men - numbering.men[start + low], m2, free, binomial), own_men >> 4) << 4
    taken = own_men | opp_men
    own_kings = _open(_spread(third, k1, left, binomial), taken)
    taken |= own_kings
    opp_kings = _open(_spread(fourth, k2, left - k1, binomial), taken)
    return own_men | own_kings, opp_men | opp_kings, own_kings | opp_kings


def make_numbering() -> Numbering:
    """The tables that numbers are looked up in; some milliseconds."""
    starts = np.zeros((_SIDE, _SIDE), np.int64)
    totals = np.ones((_SIDE, _SIDE), np.int64)
    parts = []
    at = 0
    for m1 in range(_SIDE):
        own = np.array(
            [int(_spread(r, m1, MEN_SQUARES, BINOMIAL)) >> 4 for r in range(BINOMIAL[MEN_SQUARES, m1])]
        )
        free = MEN_SQUARES - np.array([int(bits).bit_count() for bits in own])
        for m2 in range(_SIDE - m1):
            ways = BINOMIAL[free, m2]
            before = np.cumsum(ways) - ways
            starts[m1, m2], totals[m1, m2] = at, int(ways.sum())
            parts.append(before)
            at += len(before)
    return Numbering(BINOMIAL, starts, np.concatenate(parts), totals)
