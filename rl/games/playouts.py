"""Random playouts in Numba: games of uniformly random legal actions.

A playout ends where the rules end it, but does not detect repetitions: a game whose positions can repeat
needs another rule that ends it. Random numbers are SplitMix64, one for each action, scaled by
multiplication (no action of 48 is more than 1e-8 likelier than another).
"""

import numpy as np

from ckai.rl.games import contract
from ckai.rl.games.contract import overridable
from ckai.rl.games.rng import below


@overridable
def playout(game, state, stream):
    """Play one random game from a state; `stream`, uint64, is the state of the random stream.

    Returns (result for the side to move in `state`: 1.0, 0.0 or -1.0; state of the stream afterwards).
    """
    out = np.empty(contract.max_legal_actions(game), np.uint8)
    sign = 1.0
    while True:
        count = contract.legal(game, state, out)
        over, value = contract.outcome(game, state, count)
        if over:
            return sign * value, stream
        stream, k = below(stream, count)
        state, passed = contract.play(game, state, np.int64(out[k]))
        if passed:
            sign = -sign
