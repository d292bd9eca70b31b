"""The rules of Connect-4 for the search: seven columns of six, four in a row win.

A state is (stones of the side to move, stones of the other); bit column * 7 + row, row 0 at the bottom. The
seventh bit of a column stays empty, so that no line of four leaps from one column to the next. An action is
a column.
"""

from typing import NamedTuple

import numpy as np

from ckai.game.jit import inner
from ckai.rl.games import contract
from ckai.rl.games.contract import game, implements

_TOPS = sum(1 << column * 7 + 5 for column in range(7))
_FULL = sum(0o77 << column * 7 for column in range(7))
_BITS = [column * 7 + row for row in range(6) for column in range(7)]


@game(num_actions=7, max_legal_actions=7, bits=_BITS, lookahead=True)
class Connect4(NamedTuple):
    """No settings."""


@inner
def four(stones):
    """Whether a set of stones holds four in a row."""
    for shift in (1, 6, 7, 8):
        pairs = stones & stones >> shift
        if pairs & pairs >> 2 * shift:
            return True
    return False


@implements(contract.legal, Connect4)
@inner
def _legal(game, state, out):
    tops = (state[0] | state[1]) & _TOPS
    n = 0
    for action in range(7):
        if not tops >> action * 7 & 0o77:
            out[n] = action
            n += 1
    return n


@implements(contract.play, Connect4)
@inner
def _play(game, state, action):
    taken = state[0] | state[1]
    bottom = np.int64(1) << np.int64(action) * 7
    # Adding a stone at the bottom carries through the full squares to the first empty one.
    return (state[1], state[0] | (taken + bottom) & ~taken & bottom * 0o77), True


@implements(contract.outcome, Connect4)
@inner
def _outcome(game, state, count):
    if four(state[1]):
        return True, -1.0
    return state[0] | state[1] == _FULL, 0.0
