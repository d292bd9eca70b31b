"""Random playouts of checkers, several times as fast as the general ones.

Repetitions are not detected: the halfmove clock ends such games.
"""

import numpy as np

from ckai.game.jit import inner
from ckai.game.kernels import (
    FULL,
    JUMP_TO,
    LAST_ROW,
    STEP_TO,
    down_left,
    down_right,
    lowest,
    popcount,
    up_left,
    up_right,
)
from ckai.rl.games.checkers.rules import Checkers
from ckai.rl.games.contract import implements
from ckai.rl.games.playouts import playout
from ckai.rl.games.rng import below

_FIRST_ROW = 0xF


@inner
def _pick(sets, k):
    """Index of the k-th lowest bit of a non-zero 64-bit set."""
    for _ in range(k):
        sets &= sets - 1
    return lowest(sets)


@implements(playout, Checkers)
@inner
def _checkers(game, state, stream, trace):
    # The board is never turned: `down` says whether the men of the side to move go down, as those of the side
    # to move at the first state do. Two directions share a word: right | left << 32.
    own, opp = state[0] & FULL, state[0] >> 32 & FULL
    kings = state[1] & FULL
    jumper = (state[1] >> 32 & 0xFF) - 1
    halfmove_clock = state[1] >> 40 & 0xFFFF
    going_on = jumper >= 0
    movers = np.int64(1) << jumper if going_on else own
    down = True
    moves, hops = 0, 0
    while True:
        empty = ~(own | opp) & FULL
        crowned = movers & kings
        fallers, risers = (movers, crowned) if down else (crowned, movers)
        falls, rises = np.int64(0), np.int64(0)
        if fallers:
            falls = (
                fallers & up_left(opp & up_left(empty)) | (fallers & up_right(opp & up_right(empty))) << 32
            )
        if risers:
            rises = (
                risers & down_left(opp & down_left(empty))
                | (risers & down_right(opp & down_right(empty))) << 32
            )
        jumps = (falls | rises) != 0
        if not jumps:
            if going_on:  # no further: the turn passes
                going_on = False
                own, opp = opp, own
                movers = own
                down = not down
                moves += 1
                continue
            if fallers:
                falls = fallers & up_left(empty) | (fallers & up_right(empty)) << 32
            if risers:
                rises = risers & down_left(empty) | (risers & down_right(empty)) << 32
            if not falls | rises:
                return (-1.0 if down else 1.0), stream, moves, hops
        if halfmove_clock >= game.halfmove_limit:
            return 0.0, stream, moves, hops
        falling = popcount(falls)
        stream, k = below(stream, falling + popcount(rises))
        if k < falling:
            at = _pick(falls, k)
            action = (at & 31) * 4 + 1 + (at >> 5)  # down-right, down-left
        else:
            at = _pick(rises, k - falling)
            action = (at & 31) * 4 + 3 * (at >> 5)  # up-right, up-left
        if hops < len(trace):
            trace[hops] = action if down else (31 - (action >> 2)) * 4 + (action & 3 ^ 2)
        hops += 1
        start = np.int64(1) << (action >> 2)
        end = np.int64(1) << STEP_TO[action]
        king = (kings & start) != 0
        if jumps:
            opp ^= end
            kings &= ~end
            end = np.int64(1) << JUMP_TO[action]
            halfmove_clock = np.int64(0)
        else:
            halfmove_clock = halfmove_clock + 1 if king else np.int64(0)
        own ^= start | end
        if king:
            kings ^= start | end
        crowned_now = not king and (end & (LAST_ROW if down else _FIRST_ROW)) != 0
        if crowned_now:
            kings |= end
        if jumps and not crowned_now:
            going_on = True
            movers = end
        else:
            going_on = False
            own, opp = opp, own
            movers = own
            down = not down
            moves += 1
