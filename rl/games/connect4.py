"""Connect-4: rules, encoding, `GameSpec`, and a solver by alpha-beta.

A state is (stones of the side to move, stones of the other); bit column * 7 + row, row 0 at the bottom. The
seventh bit of a column stays empty, so that no line of four leaps from one column to the next. An action is
a column.

The solver gives the true value of every position: it avoids the moves that lose at once, and has a table of
bounds and a book. It sees a position as (stones of the side to move, all stones). A *score* says who wins and
how soon: 22 less the stones that the winner has played in the end, as in the literature; it is positive if
the side to move wins, negative if it loses, 0 for a draw. Winning sooner scores higher, losing later does
too. Its parts are well known: bitboards and the test for four in a row (J. Tromp); the key of a position, the
order of moves by the threats that they make, and the search by null windows (P. Pons, "Solving Connect 4: how
to build a perfect AI", 2016); cutoffs by the bounds of the positions after a move (A. Plaat et al.,
"Exploiting graph properties of game trees", 1996).
"""

from collections.abc import Mapping
from pathlib import Path
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
HIGHEST = 18
"""The best score: four of one's own 21 stones have been played at the earliest win."""
BOTTOM = sum(1 << column * 7 for column in range(7))
BOARD = sum(0o77 << column * 7 for column in range(7))
BITS = [column * 7 + row for row in range(6) for column in range(7)]
BOOK_STONES = 4
"""Stones of the positions in a book: what is known of these makes the earlier ones quick."""
_FOLDED = 16
"""Stones below which a position and its mirror image share their bound: later ones meet rarely."""
_LOOKED_AHEAD = 28
"""Stones below which the bounds of the positions after a move are tried first: it takes time."""
_COLUMNS = np.array([0o77 << column * 7 for column in (3, 2, 4, 1, 5, 0, 6)], np.int64)
"""Columns from the middle outwards: most lines of four go through the middle."""
BOOK = Path(__file__).with_name("connect4-book.npz")
"""Arrays `keys` and `bounds`, see `negamax`; `benchmarks/games/connect4.py` made it."""
BYTES = 5
"""Memory of an entry of the table."""


@game(num_actions=7, max_legal_actions=7, bits=BITS, lookahead=True)
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
    if four(state[1]):
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


@inner
def mirrored(key):
    """Return the key of the mirrored position, or of each of an array: no column carries into the next."""
    out = key & 0
    for column in range(7):
        out = out << 7 | key >> 7 * column & 127
    return out


@inner
def key_of(own, taken, stones):
    """Return a number that no two positions share, early ones with their mirror image apart (P. Pons)."""
    key = own + taken + BOTTOM
    return min(key, mirrored(key)) if stones < _FOLDED else key


@inner
def _refutation(own, taken, moves, stones, keys, bounds):
    """Return the best score for the side to move that the table already promises after one of its moves."""
    best = np.int64(-HIGHEST - 1)
    while moves:
        move = moves & -moves
        moves ^= move
        key = key_of(own ^ taken, taken | move, stones + 1)
        slot = key % len(keys)
        bound = np.int64(bounds[slot])
        if keys[slot] == np.uint32(key) and 0 < bound <= 2 * HIGHEST + 1:
            best = max(best, HIGHEST + 1 - bound)
    return best


@kernel
def negamax(own, taken, alpha, beta, keys, bounds, book_keys, book_bounds):
    """Return a bound of the score of a position in which the side to move cannot win at once.

    Args:
        own: stones of the side to move.
        taken: all stones.
        alpha: lower end of the window, below `beta`: scores up to it need not be distinguished.
        beta: upper end of the window: scores from it on need not be distinguished.
        keys: `[size]` uint32, low bits of the key that is in each slot; the size is odd and above 2**17, so
            that slot and low bits together say the whole key (Chinese remainder theorem).
        bounds: `[size]` uint8, 0: none; to 37: score at most `bound - 19`; above: at least `bound - 56`.
        book_keys: `[n]` int64, ascending, see `key_of`: positions with `BOOK_STONES` stones; may be empty.
        book_bounds: `[n, 2]` int8, the least and the most that their scores can be, for the side to move.

    Returns:
        The score if it is between alpha and beta; at most alpha: an upper bound; at least beta: a lower one.
    """
    stones = np.int64(popcount(taken))
    moves = safe_moves(own, taken)
    if not moves:
        return -((SQUARES - stones) // 2)
    if stones >= SQUARES - 2:
        return np.int64(0)
    # Neither side can win before its next stone but one, or at all without a line that is still open.
    least, most = -((SQUARES - 2 - stones) // 2), (SQUARES - 1 - stones) // 2
    if alpha < 0 and not four(BOARD ^ own):
        least = np.int64(0)
    if beta > 0 and not four(BOARD ^ taken | own):
        most = np.int64(0)
    key = key_of(own, taken, stones)
    if stones == BOOK_STONES:
        at = np.searchsorted(book_keys, key)
        if at < len(book_keys) and book_keys[at] == key:
            least, most = max(least, np.int64(book_bounds[at, 0])), min(most, np.int64(book_bounds[at, 1]))
    slot = key % len(keys)
    bound = np.int64(bounds[slot]) if keys[slot] == np.uint32(key) else np.int64(0)
    if bound > 2 * HIGHEST + 1:
        least = max(least, bound - 3 * HIGHEST - 2)
    elif bound:
        most = min(most, bound - HIGHEST - 1)
    if alpha < least:
        alpha = least
        if alpha >= beta:
            return alpha
    if beta > most:
        beta = most
        if alpha >= beta:
            return beta
    if stones < _LOOKED_AHEAD:
        score = _refutation(own, taken, moves, stones, keys, bounds)
        if score >= beta:
            return score
    # The order of moves, four bits each: insertion by the number of threats that a move makes.
    order, counts, n = np.int64(0), np.int64(0), 0
    for i in range(6, -1, -1):
        move = moves & _COLUMNS[i]
        if move:
            threats = min(np.int64(popcount(winning_squares(own | move, taken | move))), np.int64(15))
            at = n
            while at and counts >> 4 * (at - 1) & 15 > threats:
                at -= 1
            below = (np.int64(1) << 4 * at) - 1
            order = order & below | np.int64(i) << 4 * at | (order & ~below) << 4
            counts = counts & below | threats << 4 * at | (counts & ~below) << 4
            n += 1
    while n:
        n -= 1
        move = moves & _COLUMNS[order >> 4 * n & 15]
        score = -negamax(own ^ taken, taken | move, -beta, -alpha, keys, bounds, book_keys, book_bounds)
        if score >= beta:
            keys[slot], bounds[slot] = np.uint32(key), score + 3 * HIGHEST + 2
            return score
        alpha = max(alpha, score)
    keys[slot], bounds[slot] = np.uint32(key), alpha + HIGHEST + 1
    return alpha


@kernel
def solve(own, taken, keys, bounds, book_keys, book_bounds):
    """Return the score of a position that is not over; see `negamax` for the arguments."""
    stones = np.int64(popcount(taken))
    if winning_squares(own, taken) & playable(taken):
        return (SQUARES + 1 - stones) // 2
    least, most = -((SQUARES - stones) // 2), (SQUARES - 1 - stones) // 2
    while least < most:
        # Windows of one score, tried near a draw first: those far from it are refuted quickly.
        middle = least + (most - least) // 2
        if middle <= 0 and least // 2 < middle:
            middle = -(-least // 2)
        elif middle >= 0 and most // 2 > middle:
            middle = most // 2
        score = negamax(own, taken, middle, middle + 1, keys, bounds, book_keys, book_bounds)
        if score <= middle:
            most = score
        else:
            least = score
    return least


class Connect4Solver(Solver):
    """Solves positions by search; earlier results make related positions faster."""

    def __init__(self, megabytes: int = 80, *, book: bool = True) -> None:
        """Allocate the table of bounds.

        Args:
            megabytes: memory of the table; the first position takes about 500 without the book.
            book: whether to use the installed book; otherwise all is found by search.
        """
        size = megabytes * 2**20 // BYTES | 1
        self._table = np.zeros(size, np.uint32), np.zeros(size, np.uint8)
        self._book = np.zeros(0, np.int64), np.zeros((0, 2), np.int8)
        if book:
            with np.load(BOOK) as file:
                self._book = file["keys"], file["bounds"]

    def score_of(self, own: int, taken: int) -> int:
        """Return the score, see the top, of the stones of the side to move and all stones in play."""
        return int(solve(np.int64(own), np.int64(taken), *self._table, *self._book))

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
