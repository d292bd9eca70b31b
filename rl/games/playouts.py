"""Random playouts in Numba: games of uniformly random legal actions.

A playout ends where the rules end it, but does not detect repetitions: a game whose positions can repeat
needs another rule that ends it. Random numbers are SplitMix64, one for each action, scaled by
multiplication (no action of 48 is more than 1e-8 likelier than another).
"""

import numpy as np

from ckai.game.jit import kernel
from ckai.rl.games import contract
from ckai.rl.games.contract import overridable
from ckai.rl.games.rng import below


@overridable
def playout(game, state, stream, trace):
    """Play one random game from a state.

    Args:
        game: the rules.
        state: the first state.
        stream: uint64, state of the random stream.
        trace: int array, filled with the actions played, as many as fit; may be empty.

    Returns:
        (result for the side to move in `state`: 1.0, 0.0 or -1.0; state of the random stream afterwards;
        number of moves; number of hops). A move is complete when the turn passes.
    """
    out = np.empty(contract.max_legal_actions(game), np.uint8)
    sign = 1.0
    moves = 0
    hops = 0
    while True:
        count = contract.legal(game, state, out)
        over, value = contract.outcome(game, state, count)
        if over:
            return sign * value, stream, moves, hops
        stream, k = below(stream, count)
        action = np.int64(out[k])
        if hops < len(trace):
            trace[hops] = action
        hops += 1
        state, passed = contract.play(game, state, action)
        if passed:
            sign = -sign
            moves += 1


@kernel
def playouts(game, state, count, seed, trace):
    """Play `count` random games from a state.

    Args:
        game: the rules.
        state: the first state.
        count: number of games.
        seed: of the random stream.
        trace: uint8 array, filled with the actions of the last game, as many as fit; may be empty.

    Returns:
        (won, drawn, lost, moves, hops): results for the side to move in `state`, and the total moves and
        hops.
    """
    stream = np.uint64(seed)
    won, drawn, lost, moves, hops = 0, 0, 0, 0, 0
    for _ in range(count):
        value, stream, m, h = playout(game, state, stream, trace)
        won += value > 0.0
        lost += value < 0.0
        drawn += value == 0.0
        moves += m
        hops += h
    return won, drawn, lost, moves, hops
