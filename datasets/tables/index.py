"""Index every placement of few pieces, without gaps, class by class.

A class is (own men, own kings, the other's men, the other's kings), in mover's view. Within a class, a
placement is numbered by the combinatorial number system: own men on rows 0 to 6, the other's men on rows 1
to 7 not occupied by own men, then own kings and the other's kings on the squares left.
"""

from math import comb

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import inner, quick_kernel
from ckai.game.kernels import lowest, popcount

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
