"""9x9 Go for the search: area scoring, positional superko, no suicide, two passes end the game.

The rules are those of Tromp and Taylor (https://tromp.github.io/go.html) with suicide forbidden, as on the
Computer Go Server and in most programs. Passing is always legal. A game also ends, and is scored as it
stands, after `MAX_PLIES` plies. What superko forbids is taken out by the search, see `may_repeat`.

An action is a point, 9 * row + column with row 0 at the bottom, or `PASS`. A set of points is two int64,
(low, high): bit 9 * row + column of `low` for rows 0 to 6, bit 9 * (row - 7) + column of `high` for rows 7
and 8. A state is 26 words:

- 0, 1, 2: the board, Black's stones on the rows 0 to 6, White's, and those on the rows 7 and 8: Black's in
  bits 0 to 17, White's in bits 18 to 35;
- 3: points of the rows 0 to 6 that a stone was taken from in this game; 4: those of the rows 7 and 8 in bits
  0 to 17, successive passes in bits 18 and 19, plies in the bits from 20 on. Black plays the even ones;
- 5 to 25: the boards of the last seven plies, the latest first; an empty board stands for those before the
  first.
"""

from typing import NamedTuple

import numpy as np

from ckai.datasets.split import below
from ckai.game.jit import INNER, hot, inner, quick_kernel
from ckai.game.kernels import lowest, popcount
from ckai.rl.games import contract
from ckai.rl.games.contract import game, implements

SIZE = 9
"""Rows and columns."""
POINTS = SIZE * SIZE
"""Points of the board."""
LOW_POINTS = 7 * SIZE
"""Points in the first word of a set."""
LOW, HIGH = ALL = (1 << LOW_POINTS) - 1, (1 << POINTS - LOW_POINTS) - 1
"""The set of all points."""
NOTHING = (0, 0)
"""The empty set."""

_ROW = (1 << SIZE) - 1
_FIRST = sum(1 << SIZE * row for row in range(7))
_LOW_BUT_FIRST, _HIGH_BUT_FIRST = LOW & ~_FIRST, HIGH & ~_FIRST
_TOP = LOW_POINTS - SIZE
"""The bit of the first point of the highest row in `low`."""

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
_NO_HISTORY = (0,) * (STATE_WORDS - 3)


# --- sets of points ------------------------------------------------------------------------------------


@hot
def union(a, b):
    """Return the points of either set."""
    return a[0] | b[0], a[1] | b[1]


@hot
def common(a, b):
    """Return the points of both sets."""
    return a[0] & b[0], a[1] & b[1]


@hot
def without(a, b):
    """Return the points of one set that are not in the other."""
    return a[0] & ~b[0], a[1] & ~b[1]


@hot
def size(points):
    """Return the number of points of a set."""
    return popcount(points[0]) + popcount(points[1])


@hot
def point(at):
    """Return the set of one point, 0 to 80."""
    if at < LOW_POINTS:
        return np.int64(1) << at, np.int64(0)
    return np.int64(0), np.int64(1) << at - LOW_POINTS


@hot
def lowest_point(points):
    """Return the set of the lowest point of a set that is not empty."""
    low, high = points
    if low:
        return low & -low, np.int64(0)
    return np.int64(0), high & -high


@hot
def around(points):
    """Return the points next to those of a set, which may hold points of the set."""
    low, high = points
    east, west = low << 1 & _LOW_BUT_FIRST, (low & _LOW_BUT_FIRST) >> 1
    north, south = low << SIZE & LOW, low >> SIZE | (high & _ROW) << _TOP
    high_east, high_west = high << 1 & _HIGH_BUT_FIRST, (high & _HIGH_BUT_FIRST) >> 1
    high_north, high_south = high << SIZE & HIGH | low >> _TOP, high >> SIZE
    return east | west | north | south, high_east | high_west | high_north | high_south


@inner
def flood(points, within):
    """Return the points of `within` that are connected in it with those of a set, which lie in it."""
    while True:
        more = union(points, common(around(points), within))
        if more == points:
            return points
        points = more


@inner
def captured(at, own, other):
    """Return the stones of `other` that a stone of `own` at one empty point, the set `at`, takes."""
    taken, empty = NOTHING, without(ALL, union(at, union(own, other)))
    left = common(around(at), other)
    while left != NOTHING:
        chain = flood(lowest_point(left), other)
        if common(around(chain), empty) == NOTHING:
            taken = union(taken, chain)
        left = without(left, chain)
    return taken


@inner
def playable(own, other):
    """Return the empty points where a stone of `own` has a liberty after its captures: no suicide."""
    empty = without(ALL, union(own, other))
    free = common(around(empty), empty)
    closed = without(empty, free)
    if closed == NOTHING:
        return free
    # A point without an empty one next to it is open next to an own chain with another liberty, and next to a
    # chain of the other side whose last liberty it is.
    near = around(closed)
    return union(free, union(_liberties(near, own, empty, False), _liberties(near, other, empty, True)))


@inner
def _liberties(near, stones, empty, last):
    """Return the liberties of chains with a stone among `near`: of those with one (`last`) or several."""
    found, left = NOTHING, common(near, stones)
    while left != NOTHING:
        chain = flood(lowest_point(left), stones)
        free = common(around(chain), empty)
        count = size(free)
        if count == 1 if last else count > 1:
            found = union(found, free)
        left = without(left, chain)
    return found


@inner
def area(black, white):
    """Return the area of Black less that of White: stones, and empty points that reach one colour only.

    The scoring of Tromp and Taylor, https://tromp.github.io/go.html.
    """
    empty = without(ALL, union(black, white))
    black, white = flood(black, union(black, empty)), flood(white, union(white, empty))
    return size(without(black, white)) - size(without(white, black))


# --- rules ----------------------------------------------------------------------------------------------


@game(
    num_actions=POINTS + 1,
    position_bytes=3 * POINTS + 2,
    max_legal_actions=POINTS + 1,
    state_words=STATE_WORDS,
    mean_legal_actions=POINTS + 1,
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
def board(state, first):
    """Return (Black's stones, White's) of the board whose words begin at `first`."""
    highs = state[first + 2]
    return (state[first], highs & HIGH), (state[first + 1], highs >> HIGH_BITS)


@hot
def stones(state):
    """Return (own stones, the other side's) of the side to move."""
    black, white = board(state, 0)
    if black_to_move(state):
        return black, white
    return white, black


@implements(contract.legal, Go, INNER)
def _legal(game, state, out):
    own, other = stones(state)
    low, high = playable(own, other)
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


@implements(contract.play, Go, INNER)
def _play(game, state, action):
    own, other = stones(state)
    emptied, counts = state[3], state[4] + (1 << PLIES_BIT)
    if action == PASS:
        counts += 1 << PASSES_BIT if passes(state) < 2 else 0
    else:
        at = point(np.int64(action))
        taken = captured(at, own, other)
        own, other = union(own, at), without(other, taken)
        emptied |= taken[0]
        counts = counts & ~(3 << PASSES_BIT) | taken[1]
    black, white = (own, other) if black_to_move(state) else (other, own)
    words = black[0], white[0], black[1] | white[1] << HIGH_BITS, emptied, counts
    return (*words, *state[0:3], *state[5:23]), True


@implements(contract.outcome, Go)
def _outcome(game, state, count):
    if passes(state) < 2 and plies_played(state) < MAX_PLIES:
        return False, 0.0
    score = black_area(state) - game.komi
    if not black_to_move(state):
        score = -score
    return True, 1.0 if score > 0 else -1.0 if score < 0 else 0.0


@quick_kernel
def black_area(state):
    """Return the area of Black less that of White, without komi."""
    black, white = board(state, 0)
    return area(black, white)


@quick_kernel
def has_dead_chain(state):
    """Return whether stones without a liberty are on the board."""
    own, other = stones(state)
    near = around(without(ALL, union(own, other)))
    return flood(common(near, own), own) != own or flood(common(near, other), other) != other


@implements(contract.key, Go)
def _key(game, state):
    return state[0:3] + _NO_HISTORY


@implements(contract.repetition_window, Go)
def _repetition_window(game, state):
    return min(plies_played(state), np.int64(MAX_PLIES))


@implements(contract.may_repeat, Go)
def _may_repeat(game, state, action):
    # The stone stood there before only if it was taken since. A pass always repeats, and is allowed.
    return action != PASS and common(point(np.int64(action)), (state[3], state[4])) != NOTHING


@implements(contract.encode, Go, INNER)
def _encode(game, state, out):
    out[:] = 0
    own, other = stones(state)
    _mark(own, 0, 1, out)
    _mark(other, 0, -1, out)
    black = black_to_move(state)
    blacks, whites = (POINTS, 2 * POINTS) if black else (2 * POINTS, POINTS)
    for i in range(EARLIER):
        before = board(state, 5 + 3 * i)
        _mark(before[0], blacks, 1 << i, out)
        _mark(before[1], whites, 1 << i, out)
    out[3 * POINTS] = -1 - 2 * passes(state) - (0 if black else 1)  # negative: no piece must continue jumping
    out[3 * POINTS + 1] = min(plies_played(state) >> 1, 127)


@inner
def _mark(points, first, value, out):
    """Add a value to the bytes of a set of points, counted from `first`."""
    low, high = points
    while low:
        out[first + lowest(low)] += value
        low &= low - 1
    while high:
        out[first + LOW_POINTS + lowest(high)] += value
        high &= high - 1


@implements(contract.playout, Go, INNER)
def _playout(game, state, stream):
    """As the general playout, but no stone fills an eye of one point, and only who has no move passes."""
    own, other = stones(state)
    passed, plies = passes(state), plies_played(state)
    while passed < 2 and plies < MAX_PLIES:
        points = common(playable(own, other), around(without(ALL, own)))
        passed += 1
        if points != NOTHING:
            stream, k = below(stream, size(points))
            at = _nth(points, k)
            own, other = union(own, at), without(other, captured(at, own, other))
            passed = 0
        own, other = other, own
        plies += 1
    score = area(own, other) + (game.komi if plies & 1 else -game.komi)
    if plies - plies_played(state) & 1:  # the other side is to move now
        score = -score
    return 1.0 if score > 0 else -1.0 if score < 0 else 0.0, stream


@inner
def _nth(points, k):
    """Return the set of the k-th lowest point of a set, from 0."""
    for _ in range(k):
        points = without(points, lowest_point(points))
    return lowest_point(points)
