"""Tic-tac-toe as a game of the search: the whole of what a small game has to say.

A state is (stones of the side to move, stones of the other); bit and action i are the square i, row by row.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ckai.rl.games import contract
from ckai.rl.games.contract import game, implements

_LINES = np.array([0o007, 0o070, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124], np.int64)
_FULL = 0o777


@game(actions=9, size=11)
class TicTacToe(NamedTuple):
    """No settings."""


@implements(contract.start, TicTacToe)
@njit(cache=True)
def _start(game):
    return np.int64(0), np.int64(0)


@implements(contract.legal, TicTacToe)
@njit(cache=True)
def _legal(game, state, out):
    taken = state[0] | state[1]
    n = 0
    for action in range(9):
        if not taken >> action & 1:
            out[n] = action
            n += 1
    return n


@implements(contract.play, TicTacToe)
@njit(cache=True)
def _play(game, state, action):
    return (state[1], state[0] | np.int64(1) << np.int64(action)), True


@implements(contract.outcome, TicTacToe)
@njit(cache=True)
def _outcome(game, state, count):
    for line in _LINES:
        if state[1] & line == line:
            return True, -1.0
    return state[0] | state[1] == _FULL, 0.0


@implements(contract.key, TicTacToe)
@njit(cache=True)
def _key(game, state):
    return state


@implements(contract.repetition_window, TicTacToe)
@njit(cache=True)
def _lookback(game, state):
    return np.int64(0)


@implements(contract.repetitions, TicTacToe)
@njit(cache=True)
def _repetitions(game):
    return 0


@implements(contract.lookahead, TicTacToe)
@njit(cache=True)
def _lookahead(game):
    return True


@implements(contract.encode, TicTacToe)
@njit(cache=True)
def _encode(game, state, out):
    for i in range(9):
        out[i] = (state[0] >> i & 1) - (state[1] >> i & 1)
    out[9], out[10] = -1, 0
