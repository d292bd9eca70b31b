"""9x9 Go for the search: area scoring, positional superko, no suicide, two passes end the game.

An action is a point, 9 * row + column with row 0 at the bottom, or `PASS`. A state is 26 words:

- 0, 1, 2: the board, Black's stones on the rows 0 to 6, White's, and those on the rows 7 and 8: Black's in
  bits 0 to 17, White's in bits 18 to 35. See `ckai.rl.games.go.board`;
- 3: points of the rows 0 to 6 that a stone was taken from in this game; 4: those of the rows 7 and 8 in bits
  0 to 17, successive passes in bits 18 and 19, plies in the bits from 20 on. Black plays the even ones;
- 5 to 25: the boards of the last seven plies, the latest first; an empty board stands for those before the
  first.

The rules are those of Tromp and Taylor (https://tromp.github.io/go.html) with suicide forbidden, as on the
Computer Go Server and in most programs. Passing is always legal. A game also ends, and is scored as it
stands, after `MAX_PLIES` plies. What superko forbids is taken out by the search, see `FORBIDS_REPETITION`.
"""

from typing import NamedTuple

import numpy as np

from ckai.game.jit import hot, inner
from ckai.game.kernels import lowest
from ckai.rl.games import contract
from ckai.rl.games.contract import game, implements
from ckai.rl.games.go.board import HIGH, LOW, LOW_POINTS, POINTS, alive, area, captured, playable, point

PASS = POINTS
"""The action that places no stone."""
EARLIER = 7
"""Earlier boards in a state."""
STATE_WORDS = 5 + 3 * EARLIER
MAX_PLIES = 2 * POINTS
"""Plies after which a game ends: twice the points, as in AlphaGo Zero and in OpenSpiel."""

HIGH_BITS = POINTS - LOW_POINTS
"""The bit of White's first point in a word that has both sides' stones on the rows 7 and 8."""
PASSES_BIT, PLIES_BIT = HIGH_BITS, HIGH_BITS + 2
"""The first bits of the successive passes and of the plies in word 4."""
_EMPTY, _NO_HISTORY = (0,) * STATE_WORDS, (0,) * (STATE_WORDS - 3)


@game(
    num_actions=POINTS + 1,
    position_bytes=3 * POINTS + 2,
    max_legal_actions=POINTS + 1,
    state_words=STATE_WORDS,
    mean_legal_actions=POINTS + 1,
    forbids_repetition=True,
)
class Go(NamedTuple):
    """The settings of the rules."""

    komi: float = 7.0
    """Points that White gets; an integer lets games be drawn."""

    @property
    def history(self) -> int:
        """Earlier positions that a repetition can reach: all of the game."""
        return MAX_PLIES


@hot
def black_to_move(state):
    """Return whether Black is to move."""
    return not state[4] >> PLIES_BIT & 1


@hot
def plies_played(state):
    """Return the number of plies played."""
    return state[4] >> PLIES_BIT


@hot
def passes(state):
    """Return the number of consecutive passes just before a state, at most 2."""
    return state[4] >> PASSES_BIT & 3


@hot
def stones(state):
    """Return (own stones, the other side's), two words each, of the side to move."""
    black_high, white_high = state[2] & HIGH, state[2] >> HIGH_BITS
    if black_to_move(state):
        return state[0], black_high, state[1], white_high
    return state[1], white_high, state[0], black_high


@implements(contract.start, Go)
@inner
def _start(game):
    return _EMPTY


@implements(contract.legal, Go)
@inner
def _legal(game, state, out):
    return _write_legal(state, out)


@inner
def _write_legal(state, out):
    own_low, own_high, other_low, other_high = stones(state)
    low, high = playable(own_low, own_high, other_low, other_high)
    count = 0
    while low:
        out[count] = lowest(low)
        low &= low - 1
        count += 1
    while high:
        out[count] = LOW_POINTS + lowest(high)
        high &= high - 1
        count += 1
    out[count] = PASS
    return count + 1


@implements(contract.play, Go)
@inner
def _play(game, state, action):
    return _after(state, np.int64(action)), True


@inner
def _after(state, action):
    black_low, white_low, highs, emptied = state[0], state[1], state[2], state[3]
    counts = state[4] + (1 << PLIES_BIT)
    if action == PASS:
        counts += 1 << PASSES_BIT if passes(state) < 2 else 0
    else:
        own_low, own_high, other_low, other_high = stones(state)
        low, high = point(action)
        taken_low, taken_high = captured(low, high, own_low, own_high, other_low, other_high)
        own_low, own_high = own_low | low, own_high | high
        other_low, other_high = other_low & ~taken_low, other_high & ~taken_high
        if black_to_move(state):
            black_low, white_low, highs = own_low, other_low, own_high | other_high << HIGH_BITS
        else:
            black_low, white_low, highs = other_low, own_low, other_high | own_high << HIGH_BITS
        emptied |= taken_low
        counts = counts & ~(3 << PASSES_BIT) | taken_high
    return (black_low, white_low, highs, emptied, counts, *state[0:3], *state[5:23])


@implements(contract.outcome, Go)
@inner
def _outcome(game, state, count):
    if passes(state) < 2 and plies_played(state) < MAX_PLIES:
        return False, 0.0
    score = black_area(state) - game.komi
    if not black_to_move(state):
        score = -score
    return True, 1.0 if score > 0 else -1.0 if score < 0 else 0.0


@inner
def black_area(state):
    """Return the area of Black less that of White, without komi."""
    return area(state[0], state[2] & HIGH, state[1], state[2] >> HIGH_BITS)


@inner
def has_dead_chain(state):
    """Return whether stones without a liberty are on the board."""
    own_low, own_high, other_low, other_high = stones(state)
    low, high = alive(own_low, own_high, other_low, other_high)
    others_low, others_high = alive(other_low, other_high, own_low, own_high)
    return low != own_low or high != own_high or others_low != other_low or others_high != other_high


@implements(contract.key, Go)
@inner
def _key(game, state):
    return state[0:3] + _NO_HISTORY


@implements(contract.repetition_window, Go)
@inner
def _repetition_window(game, state):
    return min(plies_played(state), np.int64(MAX_PLIES))


@implements(contract.may_repeat, Go)
@inner
def _may_repeat(game, state, action):
    # The stone stood there before only if it was taken since. A pass always repeats, and is allowed.
    low, high = state[3], state[4] & HIGH
    if action >= LOW_POINTS:
        return action != PASS and high >> np.int64(action) - LOW_POINTS & 1 != 0
    return low >> np.int64(action) & 1 != 0


@implements(contract.encode, Go)
@inner
def _encode(game, state, out):
    _write_planes(state, out)


@inner
def _write_planes(state, out):
    out[:] = 0
    black = black_to_move(state)
    _mark(state[0], 0, 1 if black else -1, out)
    _mark(state[2] & HIGH, LOW_POINTS, 1 if black else -1, out)
    _mark(state[1], 0, -1 if black else 1, out)
    _mark(state[2] >> HIGH_BITS, LOW_POINTS, -1 if black else 1, out)
    blacks, whites = (POINTS, 2 * POINTS) if black else (2 * POINTS, POINTS)
    for i in range(EARLIER):
        _mark(state[5 + 3 * i], blacks, 1 << i, out)
        _mark(state[6 + 3 * i], whites, 1 << i, out)
        highs = state[7 + 3 * i]
        _mark(highs & HIGH, blacks + LOW_POINTS, 1 << i, out)
        _mark(highs >> HIGH_BITS, whites + LOW_POINTS, 1 << i, out)
    out[3 * POINTS] = -1 - 2 * passes(state) - (0 if black else 1)  # negative: no piece must continue jumping
    out[3 * POINTS + 1] = min(plies_played(state) >> 1, 127)


@inner
def _mark(points, first, value, out):
    """Add a value to the bytes of a set of points, counted from `first`."""
    while points:
        out[first + lowest(points)] += value
        points &= points - 1


@implements(contract.decode, Go)
@inner
def _decode(game, board):
    code = -1 - np.int64(board[3 * POINTS])
    black = not code & 1
    blacks, whites = (POINTS, 2 * POINTS) if black else (2 * POINTS, POINTS)
    words = np.zeros(STATE_WORDS, np.int64)
    sign = 1 if black else -1
    for at in range(POINTS):
        _put(words, 0, at, board[at] == sign, board[at] == -sign)
        for i in range(EARLIER):
            _put(words, 5 + 3 * i, at, board[blacks + at] >> i & 1 != 0, board[whites + at] >> i & 1 != 0)
    words[3] = LOW  # what was taken is not encoded
    plies = 2 * np.int64(board[3 * POINTS + 1]) + (0 if black else 1)
    words[4] = HIGH | (code >> 1) << PASSES_BIT | plies << PLIES_BIT
    return contract.load_state(game, words)


@inner
def _put(words, first, at, black, white):
    """Put a stone on point `at` of the board whose words begin at `first`."""
    if at < LOW_POINTS:
        words[first] |= np.int64(black) << at
        words[first + 1] |= np.int64(white) << at
    else:
        words[first + 2] |= (np.int64(black) | np.int64(white) << HIGH_BITS) << at - LOW_POINTS
