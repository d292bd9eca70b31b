"""Connect-4: rules, encoding, `GameSpec`, and a solver by alpha-beta.

A state is (stones of the side to move, stones of the other); bit column * 7 + row, row 0 at the bottom. The
seventh bit of a column stays empty, so that no line of four leaps from one column to the next. An action is
a column.

The solver gives the true value of every position: it avoids the moves that lose at once, and has a table of
bounds. It sees a position as (stones of the side to move, all stones). A *score* says who wins and how soon:
22 less the stones that the winner has played in the end, as in the literature; it is positive if the side to
move wins, negative if it loses, 0 for a draw. Winning sooner scores higher, losing later does too. Its parts
are well known: bitboards and the test for four in a row (J. Tromp); the key of a position, the order of moves
by the threats that they make, and the search by null windows (P. Pons, "Solving Connect 4: how to build a
perfect AI", 2016).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ckai.game.jit import inner, kernel
from ckai.game.kernels import popcount
from ckai.game.svg import Layout
from ckai.models.encodings import StonesEncoding, register_encoding
from ckai.rl.games import contract
from ckai.rl.games.contract import game, implements
from ckai.rl.games.spec import GameSpec, GridPosition, SolvedValue, Solver, Symmetry

SQUARES = 42
BOTTOM = sum(1 << column * 7 for column in range(7))
BOARD = sum(0o77 << column * 7 for column in range(7))
BITS = [column * 7 + row for row in range(6) for column in range(7)]
_COLUMNS = np.array([0o77 << column * 7 for column in (3, 2, 4, 1, 5, 0, 6)], np.int64)
"""Columns from the middle outwards: most lines of four go through the middle."""
_BOUND = 50
"""Added to a lower bound of a score in the table, taken from an upper one."""


@game(num_actions=7, max_legal_actions=7, bits=BITS, lookahead=True)
class Connect4(NamedTuple):
    """No settings."""


@implements(contract.legal, Connect4)
def _legal(game, state, out):
    tops = (state[0] | state[1]) & BOTTOM << 5
    n = 0
    for action in range(7):
        if not tops >> action * 7 & 0o77:
            out[n] = action
            n += 1
    return n


@implements(contract.play, Connect4)
def _play(game, state, action):
    taken = state[0] | state[1]
    bottom = np.int64(1) << np.int64(action) * 7
    # Adding a stone at the bottom carries through the full squares to the first empty one.
    return (state[1], state[0] | (taken + bottom) & ~taken & bottom * 0o77), True


@implements(contract.outcome, Connect4)
def _outcome(game, state, count):
    for shift in (1, 6, 7, 8):
        pairs = state[1] & state[1] >> shift
        if pairs & pairs >> 2 * shift:
            return True, -1.0
    return state[0] | state[1] == BOARD, 0.0


# --- the solver ---------------------------------------------------------------------------------------


@inner
def winning_squares(own, taken):
    """Return the empty squares where a stone makes four in a row, reachable at once or not."""
    found = own << 1 & own << 2 & own << 3
    for shift in (7, 6, 8):
        pairs = own << shift & own << 2 * shift
        found |= pairs & own << 3 * shift
        found |= pairs & own >> shift
        pairs = own >> shift & own >> 2 * shift
        found |= pairs & own << shift
        found |= pairs & own >> 3 * shift
    return found & (BOARD ^ taken)


@inner
def playable(taken):
    """Return the squares that a stone can fall to."""
    return taken + BOTTOM & BOARD


@inner
def safe_moves(own, taken):
    """Return the squares after which the other side cannot win at once; it is to have no win itself.

    Without any, the side to move loses with the other's next stone.
    """
    free, threats = playable(taken), winning_squares(own ^ taken, taken)
    forced = free & threats
    if forced:
        if forced & forced - 1:
            return np.int64(0)
        free = forced
    return free & ~(threats >> 1)


@kernel
def exceeds(own, taken, score, keys, bounds):
    """Return whether the side to move, which is to have no win at once, scores more than `score`.

    Args:
        own: its stones.
        taken: all stones.
        score: int64.
        keys: `[size]` uint32, low bits of the key that is in each slot; the size is odd and above 2**17, so
            that slot and low bits together say the whole key (Chinese remainder theorem).
        bounds: `[size]` int8, 0: none; above: a lower bound of the score; below: an upper one, see `_BOUND`.
    """
    stones = np.int64(popcount(taken))
    moves = safe_moves(own, taken)
    if not moves:
        return -((SQUARES - stones) // 2) > score
    if stones >= SQUARES - 2:
        return score < 0
    # Neither side can win before its next stone but one.
    if score < -((SQUARES - 2 - stones) // 2):
        return True
    if score >= (SQUARES - 1 - stones) // 2:
        return False
    key = own + taken + BOTTOM  # no two positions share it (P. Pons)
    slot = key % len(keys)
    if keys[slot] == np.uint32(key):
        bound = np.int64(bounds[slot])
        if bound > 0 and bound - _BOUND > score:
            return True
        if bound < 0 and bound + _BOUND <= score:
            return False
    while moves:
        best, most = np.int64(0), -1
        for column in _COLUMNS:
            move = moves & column
            if move:
                threats = popcount(winning_squares(own | move, taken | move))
                if threats > most:
                    best, most = move, threats
        moves ^= best
        if not exceeds(own ^ taken, taken | best, -score - 1, keys, bounds):
            keys[slot], bounds[slot] = np.uint32(key), score + 1 + _BOUND
            return True
    keys[slot], bounds[slot] = np.uint32(key), score - _BOUND
    return False


@kernel
def solve(own, taken, keys, bounds):
    """Return the score of a position that is not over; see `exceeds` for the arguments."""
    stones = np.int64(popcount(taken))
    if winning_squares(own, taken) & playable(taken):
        return (SQUARES + 1 - stones) // 2
    least, most = -((SQUARES - stones) // 2), (SQUARES - 1 - stones) // 2
    while least < most:
        middle = (least + most) // 2
        if exceeds(own, taken, middle, keys, bounds):
            least = middle + 1
        else:
            most = middle
    return least


class Connect4Solver(Solver):
    """Solves positions by search; earlier results make related positions faster."""

    def __init__(self, megabytes: int = 80) -> None:
        """Allocate the table of bounds, of so much memory; the first position takes about 500."""
        size = megabytes * 2**20 // 5 | 1  # 5 bytes an entry
        self._table = np.zeros(size, np.uint32), np.zeros(size, np.int8)

    def score_of(self, own: int, taken: int) -> int:
        """Return the score, see the top, of the stones of the side to move and all stones in play."""
        return int(solve(np.int64(own), np.int64(taken), *self._table))

    def solve(self, position: GridPosition) -> SolvedValue:
        """See `Solver`."""
        if position.outcome() is not None:
            return super().solve(position)
        own, other = position.state
        return solved_value(self.score_of(own, own | other), (own | other).bit_count())


def solved_value(score: int, stones: int) -> SolvedValue:
    """Return what a score for the side to move says, see the top, with so many stones on the board."""
    half = SQUARES // 2 + 1
    if not score:
        return SolvedValue(0, SQUARES - stones)
    if score > 0:
        return SolvedValue(1, 2 * (half - score - stones // 2) - 1)
    return SolvedValue(-1, 2 * (half + score - (stones + 1) // 2))


# --- for people ---------------------------------------------------------------------------------------


@register_encoding("connect4")
class Connect4Encoding(StonesEncoding):
    """Six rows of seven, from the bottom row up."""

    VERSION, GAME = "connect4-1", "connect4"
    SHAPE, NUM_ACTIONS = (6, 7), 7


class Connect4Spec(GameSpec):
    """Four in a row win."""

    name = "connect4"
    title = "Connect-4"
    rules = Connect4()
    encoding = "connect4"
    plies = 30
    symmetries = (
        Symmetry(
            tuple(row * 7 + 6 - column for row in range(6) for column in range(7)),
            tuple(6 - column for column in range(7)),
        ),
    )
    solver = Connect4Solver
    layout = Layout(6, 7, {i + 1: (5 - i // 7, i % 7) for i in range(42)}, numbers=False)
    move_example = "4"
    column_labels = tuple(str(column + 1) for column in range(7))

    def set_up(self, pieces: Mapping[int, str], *, black: bool) -> Any:
        """See `GameSpec.set_up`."""
        position = super().set_up(pieces, black=black)
        for column in range(7):
            stones = (position.state[0] | position.state[1]) >> column * 7 & 0o77
            if stones & stones + 1:
                raise ValueError(f"expected no gap below a stone, found one in column {column + 1}")
        return position


SPEC = Connect4Spec()
