"""The rules of English draughts for the search. One action is one hop; the state carries the jumper.

A state is two words: own pieces and the other side's (32 bits each); kings, jumper, halfmove clock, who is
Black.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ckai.datasets.tables.probe import tablebase_value
from ckai.datasets.tables.solve import DRAWN, UNKNOWN
from ckai.game import HALFMOVE_LIMIT, REPETITION_LIMIT, Position, kernels
from ckai.game.jit import hot, inner
from ckai.game.squares import NUM_ACTIONS, SQUARES
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN, State, game, implements
from ckai.rl.games.playouts import playout
from ckai.rl.games.rng import below

_JUMPER, _CLOCK, _BLACK = 32, 40, 62  # bit offsets in the second word, above the kings
_CLOCK_MASK = 0xFFFF

if TYPE_CHECKING:
    from ckai.datasets.tables import Tables


@game(num_actions=NUM_ACTIONS, position_bytes=SQUARES + 2, max_legal_actions=64)
class Checkers(NamedTuple):
    """The rules of checkers: draw limits (see `ckai.game.game`) and tablebases."""

    halfmove_limit: int = HALFMOVE_LIMIT
    """Halfmove clock at which a game is drawn, in plies."""
    repetition_limit: int = REPETITION_LIMIT
    """Occurrences of a position at which a game is drawn."""
    pieces: int = 0
    """The tables have the positions of up to this many pieces; 0: there are none."""
    values: Any = np.zeros(0, np.uint8)
    """[positions] uint8, see `ckai.datasets.tables.solve`."""
    lookup: Any = np.zeros(0, np.int64)
    """int64, see `ckai.datasets.tables.index`."""

    @property
    def history(self) -> int:
        """Most earlier states that can be repeated: those since the last capture or move of a man."""
        return self.halfmove_limit + 2

    def with_tables(self, tables: "Tables") -> "Checkers":
        """Return the same rules with these tablebases."""
        return self._replace(pieces=tables.pieces, values=tables.values, lookup=tables.layout.lookup)


def pack(position: Position) -> State:
    """Return the state of a position."""
    first = position.own | position.opp << 32
    second = (
        position.kings
        | (position.jumper + 1) << _JUMPER
        | position.halfmove_clock << _CLOCK
        | position.black << _BLACK
    )
    return (first - (1 << 64) if first >> 63 else first), second


def unpack(state: State) -> Position:
    """Return the position of a state."""
    first, second = state[0] & (1 << 64) - 1, state[1]
    return Position(
        first & kernels.FULL,
        first >> 32,
        second & kernels.FULL,
        bool(second >> _BLACK & 1),
        (second >> _JUMPER & 0xFF) - 1,
        second >> _CLOCK & _CLOCK_MASK,
    )


@implements(contract.start, Checkers)
@inner
def _start(game):
    return (np.int64(kernels.START) | np.int64(kernels.START_OPP) << 32, np.int64(1) << _BLACK)


@hot
def _parts(state):
    """Return (own pieces, the other side's, kings, jumper or -1, halfmove clock)."""
    first, second = state
    own, opp, kings = first & kernels.FULL, first >> 32 & kernels.FULL, second & kernels.FULL
    return own, opp, kings, (second >> _JUMPER & 0xFF) - 1, second >> _CLOCK & _CLOCK_MASK


@implements(contract.legal, Checkers)
@inner
def _legal(game, state, out):
    own, opp, kings, jumper, _ = _parts(state)
    return kernels.legal_actions(own, opp, kings, jumper, out)


@implements(contract.play, Checkers)
@inner
def _play(game, state, action):
    own, opp, kings, _, clock = _parts(state)
    own, opp, kings, jumper, clock, passed = kernels.apply_hop(own, opp, kings, clock, np.int64(action))
    black = state[1] >> _BLACK & 1
    if passed:
        black = 1 - black
    return (own | opp << 32, kings | (jumper + 1) << _JUMPER | clock << _CLOCK | black << _BLACK), passed


@implements(contract.outcome, Checkers)
@inner
def _outcome(game, state, count):
    if count == 0:
        return True, -1.0
    return _repetition_window(game, state) >= game.halfmove_limit, 0.0


@implements(contract.key, Checkers)
@inner
def _key(game, state):
    return state[0], state[1] & ~(np.int64(_CLOCK_MASK) << _CLOCK)


@implements(contract.repetition_window, Checkers)
@inner
def _repetition_window(game, state):
    return state[1] >> _CLOCK & _CLOCK_MASK


@implements(contract.plies_left, Checkers)
@inner
def _plies_left(game, state):
    return game.halfmove_limit - _repetition_window(game, state)


@implements(contract.repetitions, Checkers)
@inner
def _repetitions(game):
    return game.repetition_limit


@implements(contract.quiet, Checkers)
@inner
def _quiet(game, state):
    own, opp, kings, jumper, _ = _parts(state)
    return not kernels.legal_hops(own, opp, kings, jumper)[4]


@implements(contract.encode, Checkers)
@inner
def _encode(game, state, out):
    own, opp, kings, jumper, clock = _parts(state)
    kernels.write_board(own, opp, kings, out)
    out[32], out[33] = jumper, min(clock, 127)


@implements(contract.decode, Checkers)
@inner
def _decode(game, board):
    own, opp, kings = kernels.read_board(board)
    return own | opp << 32, kings | np.int64(board[32] + 1) << _JUMPER | np.int64(board[33]) << _CLOCK


@implements(contract.tablebase_value, Checkers)
@inner
def _tablebase_value(game, state):
    own, opp, kings, jumper, clock = _parts(state)
    if kernels.popcount(own | opp) > game.pieces:
        return NONE, 0
    limit, values, lookup = game.halfmove_limit, game.values, game.lookup
    value = tablebase_value(own, opp, kings, jumper, clock, limit, values, lookup)
    if value == UNKNOWN:
        return NONE, 0
    if value == DRAWN:
        return DRAW, 0
    return (WIN if value & 1 else LOSS), value


@implements(playout, Checkers)
@inner
def _playout(game, state, stream):
    # As the general playout, twice as fast: hops are drawn from the sets of their squares, two a word.
    own, opp, kings, jumper, clock = _parts(state)
    sign = 1.0
    while True:
        up_right, down_right, down_left, up_left, _ = kernels.legal_hops(own, opp, kings, jumper)
        right, left = up_right | down_right << 32, down_left | up_left << 32
        if not right | left:
            return -sign, stream
        if clock >= game.halfmove_limit:
            return 0.0, stream
        rights = kernels.popcount(right)
        stream, k = below(stream, rights + kernels.popcount(left))
        hops, direction = (right, 0) if k < rights else (left, 2)
        for _ in range(k if k < rights else k - rights):
            hops &= hops - 1
        at = kernels.lowest(hops)
        action = (at & 31) * 4 + direction + (at >> 5)
        own, opp, kings, jumper, clock, passed = kernels.apply_hop(own, opp, kings, clock, action)
        if passed:
            sign = -sign
