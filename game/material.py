"""Material, and an alpha-beta search that evaluates by material alone.

Fail-soft negamax (Knuth and Moore, "An Analysis of Alpha-Beta Pruning", 1975). The search continues past its
depth while captures are compulsory, so that it never stops in the middle of an exchange.
"""

from typing import NamedTuple

import numpy as np

from ckai.game.jit import inner, kernel
from ckai.game.kernels import apply_hop, legal_hops, lowest, popcount

UNBOUNDED = 10_000_000
"""Above every value: the full window is -UNBOUNDED to UNBOUNDED."""


class MaterialValues(NamedTuple):
    """Values of pieces and of the end of the game, in any one unit."""

    man: int
    king: int
    loss: int
    """Value of a lost game for the winner."""
    loss_per_ply: int
    """Added to `loss` per ply of depth left, so that a later loss is better; 0 makes all losses equal."""
    halfmove_limit: int
    """Plies without a capture or a man's move that make a draw, of value 0."""


@inner
def material(own, opp, kings, values):
    """Value of the mover's men and kings minus that of the opponent's."""
    crowned = popcount(own & kings) - popcount(opp & kings)
    return values.man * (popcount(own) - popcount(opp)) + (values.king - values.man) * crowned


@kernel
def alpha_beta(own, opp, kings, jumper, halfmove_clock, depth, alpha, beta, values):
    """The value of a position for the side to move: exact between `alpha` and `beta`, a bound outside.

    Args:
        own, opp, kings, jumper, halfmove_clock: int64, see `ckai.game.Position`.
        depth: plies left; negative while captures continue.
        alpha, beta: the window, -UNBOUNDED..UNBOUNDED.
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
