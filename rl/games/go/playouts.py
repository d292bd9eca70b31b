"""Random playouts of 9x9 Go: uniformly random moves that fill no own eye, and a pass only without any.

An eye is an empty point whose neighbours are all own stones, with at most one of its diagonal points the
other side's, and none on the edge. Only kos of one stone are looked for; the length of a game ends the rest.
"""

import numpy as np

from ckai.game.jit import inner
from ckai.game.kernels import lowest
from ckai.rl.games.contract import implements
from ckai.rl.games.go.board import HIGH, LOW, LOW_POINTS, SIZE, area, around, captured, flood, point, size
from ckai.rl.games.go.rules import MAX_PLIES, PASS, Go, black_to_move, passes, plies_played, stones
from ckai.rl.games.playouts import playout
from ckai.rl.games.rng import below


@implements(playout, Go)
@inner
def _go(game, state, stream, trace):
    return _random_game(game, state, stream, trace)


@inner
def _random_game(game, state, stream, trace):
    own_low, own_high, other_low, other_high = stones(state)
    barred_low, barred_high = np.int64(0), np.int64(0)  # the ko
    black, first_black = black_to_move(state), black_to_move(state)
    passed, plies, moves = passes(state), plies_played(state), 0
    while passed < 2 and plies < MAX_PLIES:
        empty_low, empty_high = LOW & ~(own_low | other_low), HIGH & ~(own_high | other_high)
        left_low, left_high = empty_low & ~barred_low, empty_high & ~barred_high
        barred_low, barred_high = np.int64(0), np.int64(0)
        action = np.int64(PASS)
        while left_low | left_high:
            stream, k = below(stream, size(left_low, left_high))
            at = _nth(left_low, left_high, k)
            at_low, at_high = point(at)
            left_low, left_high = left_low & ~at_low, left_high & ~at_high
            taken_low, taken_high = captured(at_low, at_high, own_low, own_high, other_low, other_high)
            near_low, near_high = around(at_low, at_high)
            if not (near_low & empty_low | near_high & empty_high | taken_low | taken_high):
                # No liberty of its own: it needs a chain that has one.
                chain_low, chain_high = flood(at_low, at_high, own_low | at_low, own_high | at_high)
                free_low, free_high = around(chain_low, chain_high)
                if not (free_low & empty_low & ~at_low | free_high & empty_high & ~at_high):
                    continue
                if is_eye(at, near_low, near_high, own_low, own_high, other_low, other_high):
                    continue
            elif size(taken_low, taken_high) == 1 and not (near_low & ~other_low | near_high & ~other_high):
                barred_low, barred_high = taken_low, taken_high
            action = at
            own_low, own_high = own_low | at_low, own_high | at_high
            other_low, other_high = other_low & ~taken_low, other_high & ~taken_high
            break
        if moves < len(trace):
            trace[moves] = action
        passed = passed + 1 if action == PASS else 0
        own_low, own_high, other_low, other_high = other_low, other_high, own_low, own_high
        black = not black
        plies += 1
        moves += 1
    score = area(own_low, own_high, other_low, other_high) + (-game.komi if black else game.komi)
    if black != first_black:
        score = -score
    return 1.0 if score > 0 else -1.0 if score < 0 else 0.0, stream, moves, moves


@inner
def _nth(low, high, k):
    """Return the k-th lowest point of a set, from 0."""
    count = size(low, np.int64(0))
    first, points = (0, low) if k < count else (LOW_POINTS, high)
    for _ in range(k if k < count else k - count):
        points &= points - 1
    return first + lowest(points)


@inner
def is_eye(at, near_low, near_high, own_low, own_high, other_low, other_high):
    """Return whether an empty point is an eye of `own`, see the module; `near` are the points next to it."""
    if near_low & ~own_low | near_high & ~own_high:
        return False
    row, column = at // SIZE, at % SIZE
    others, edges = 0, 0
    for up in (-1, 1):
        for right in (-1, 1):
            if 0 <= row + up < SIZE and 0 <= column + right < SIZE:
                low, high = point(at + up * SIZE + right)
                others += (low & other_low | high & other_high) != 0
            else:
                edges = 1
    return others + edges < 2
