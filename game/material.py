"""Material, and what it comes to by force: alpha-beta over the rules alone.

Fail-soft negamax (Knuth and Moore, "An Analysis of Alpha-Beta Pruning", 1975). Where a capture is to be made
the search goes on until there is none, so that no exchange is cut in the middle.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ckai.game.kernels import apply_hop, legal_hops, lowest, popcount

UNBOUNDED = 10_000_000
"""Beyond every value: the full window is -UNBOUNDED to UNBOUNDED."""


class MaterialValues(NamedTuple):
    """What pieces and ends of the game are worth, in any unit."""

    man: int
    king: int
    loss: int
    """Of a lost game for the winner."""
    loss_per_ply: int
    """Added to `loss` for each ply of depth left, so that a late loss is better; 0: all losses are equal."""
    halfmove_limit: int
    """Plies without a capture or a man's move that make a draw, worth 0."""


@njit(cache=True, nogil=True)
def material(own, opp, kings, values):
    """Own men and kings less the other's, for the side to move."""
    crowned = popcount(own & kings) - popcount(opp & kings)
    return values.man * (popcount(own) - popcount(opp)) + (values.king - values.man) * crowned


@njit(cache=True, nogil=True)
def alpha_beta(own, opp, kings, jumper, halfmove_clock, depth, alpha, beta, values):
    """The value of a position for the side to move, exact between `alpha` and `beta`, else a bound.

    Args:
        own, opp, kings, jumper, halfmove_clock: int64, see `ckai.game.Position`.
        depth: plies left; below 0 while captures go on.
        alpha, beta: values outside need not be told apart.
        values: `MaterialValues`.
    """
    a, b, c, d, jumps = legal_hops(own, opp, kings, jumper)
    if not a | b | c | d:
        return np.int64(-values.loss - values.loss_per_ply * depth)
    if halfmove_clock >= values.halfmove_limit:
        return np.int64(0)
    if depth <= 0 and not jumps:
        return material(own, opp, kings, values)
    best = np.int64(-UNBOUNDED)
    for direction in range(4):
        sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
        while sources:
            action = lowest(sources) * 4 + direction
            sources &= sources - 1
            o, p, k, j, clock, passed = apply_hop(own, opp, kings, halfmove_clock, action)
            low = max(alpha, best)
            if passed:
                value = -alpha_beta(o, p, k, j, np.int64(clock), depth - 1, -beta, -low, values)
            else:
                value = alpha_beta(o, p, k, j, np.int64(clock), depth, low, beta, values)
            best = max(best, value)
            if best >= beta:
                return best
    return best
