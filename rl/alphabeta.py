"""Alpha-beta on material: a small, clear opponent whose strength is its depth.

Fail-soft negamax (Knuth and Moore, "An Analysis of Alpha-Beta Pruning", 1975). A man is worth 100, a king
130, and for the rest a move drawn by lot decides. Depth is in plies; where a capture is to be made the search
goes on until there is none, for then nothing hangs.
"""

from dataclasses import dataclass

import numpy as np
from numba import njit

from ckai.game import QUIET_LIMIT, Game, Move
from ckai.game.kernels import apply_hop, legal_hops, lowest, popcount
from ckai.rl.players import MoveSide, Side

MAN, KING = 100, 130
LOST = 1_000_000
"""Value of a lost game, less the plies that it took, so that a late loss is better."""


@njit(cache=True)
def material(own, opp, kings):
    """Own men and kings less the other's."""
    crowned = popcount(own & kings) - popcount(opp & kings)
    return MAN * (popcount(own) - popcount(opp)) + (KING - MAN) * crowned


@njit(cache=True, nogil=True)
def alpha_beta(own, opp, kings, jumper, quiet, depth, alpha, beta):
    """The value of a position for the side to move, exact between `alpha` and `beta`, else a bound.

    Args:
        own, opp, kings, jumper, quiet: see `ckai.game.Position`.
        depth: plies left; below 0 while captures go on.
        alpha, beta: values outside need not be told apart.
    """
    a, b, c, d, jumps = legal_hops(own, opp, kings, jumper)
    if not a | b | c | d:
        return np.int64(-LOST - depth)
    if quiet >= QUIET_LIMIT:
        return np.int64(0)
    if depth <= 0 and not jumps:
        return material(own, opp, kings)
    best = np.int64(-2 * LOST)
    for direction in range(4):
        sources = a if direction == 0 else b if direction == 1 else c if direction == 2 else d
        while sources:
            label = lowest(sources) * 4 + direction
            sources &= sources - 1
            o, p, k, j, q, passed = apply_hop(own, opp, kings, quiet, label)
            low = max(alpha, best)
            if passed:
                value = -alpha_beta(o, p, k, j, np.int64(q), depth - 1, -beta, -low)
            else:
                value = alpha_beta(o, p, k, j, np.int64(q), depth, low, beta)
            best = max(best, value)
            if best >= beta:
                return best
    return best


def move_values(game: Game, depth: int) -> dict[Move, int]:
    """The value of every legal move, to a depth of 1 or more plies; those below the best may be bounds."""
    values: dict[Move, int] = {}
    best = -2 * LOST
    for move in game.position.legal_moves():
        after = game.position.push(move)
        where = (np.int64(x) for x in (after.own, after.opp, after.kings, -1, after.quiet, depth - 1))
        # One below the best: equals are to be found as such.
        value = -int(alpha_beta(*where, np.int64(-2 * LOST), np.int64(-best + 1)))
        values[move] = value
        best = max(best, value)
    return values


class _AlphaBetaSide(MoveSide):
    def __init__(self, boards: int, depth: int) -> None:
        super().__init__(boards)
        self.depth = depth

    def choose(self, game: Game, random: np.random.Generator) -> Move:
        values = move_values(game, self.depth)
        best = [move for move, value in values.items() if value == max(values.values())]
        return best[random.integers(len(best))]


@dataclass(frozen=True)
class AlphaBetaPlayer:
    """Alpha-beta on material to a depth in plies; of equal moves one by lot."""

    depth: int
    in_turn = False

    def sit(self, boards: int) -> Side:
        """See `Contestant`."""
        return _AlphaBetaSide(boards, self.depth)
