"""The rules of English draughts for the search. One action is one hop; the state carries the jumper.

A state is two words: own pieces and the other side's (32 bits each); kings, jumper, halfmove clock, who is
Black.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables.probe import tablebase_value
from ckai.datasets.tables.solve import DRAWN, UNKNOWN
from ckai.game import HALFMOVE_LIMIT, REPETITION_LIMIT, Position, kernels
from ckai.game.jit import inner
from ckai.game.squares import NUM_ACTIONS, SQUARES
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN, State, game, implements

_JUMPER, _CLOCK, _BLACK = 32, 40, 62  # bit offsets in the second word, above the kings
_CLOCK_MASK = 0xFFFF

_NO_VALUES, _NO_LOOKUP = np.zeros(0, np.uint8), np.zeros(0, np.int64)

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
    values: Any = _NO_VALUES
    """[positions] uint8, see `ckai.datasets.tables.solve`."""
    lookup: Any = _NO_LOOKUP
    """int64, see `ckai.datasets.tables.index`."""

    @property
    def history(self) -> int:
        """Most earlier states that can be repeated: those since the last capture or move of a man."""
        return self.halfmove_limit + 2

    def with_tables(self, tables: "Tables | None") -> "Checkers":
        """Return the same rules with these tablebases; None: without any."""
        if tables is None:
            return self._replace(pieces=0, values=_NO_VALUES, lookup=_NO_LOOKUP)
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


def halfmove_clocks_of(states: NDArray[np.int64]) -> NDArray[np.int16]:
    """Return the halfmove clocks, `[N]`, of states `[N, 2]`."""
    return (states[:, 1] >> _CLOCK & _CLOCK_MASK).astype(np.int16)


@implements(contract.start, Checkers)
@inner
def _start(game):
    return (np.int64(kernels.START) | np.int64(kernels.START_OPP) << 32, np.int64(1) << _BLACK)


@implements(contract.legal, Checkers)
@inner
def _legal(game, state, out):
    own, opp = state[0] & kernels.FULL, state[0] >> 32 & kernels.FULL
    return kernels.legal_actions(own, opp, state[1] & kernels.FULL, (state[1] >> _JUMPER & 0xFF) - 1, out)


@implements(contract.play, Checkers)
@inner
def _play(game, state, action):
    own, opp, kings, jumper, halfmove_clock, passed = kernels.apply_hop(
        state[0] & kernels.FULL,
        state[0] >> 32 & kernels.FULL,
        state[1] & kernels.FULL,
        state[1] >> _CLOCK & _CLOCK_MASK,
        np.int64(action),
    )
    black = state[1] >> _BLACK & 1
    if passed:
        black = 1 - black
    return (
        own | opp << 32,
        kings | (jumper + 1) << _JUMPER | halfmove_clock << _CLOCK | black << _BLACK,
    ), passed


@implements(contract.outcome, Checkers)
@inner
def _outcome(game, state, count):
    if count == 0:
        return True, -1.0
    return (state[1] >> _CLOCK & _CLOCK_MASK) >= game.halfmove_limit, 0.0


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
    return game.halfmove_limit - (state[1] >> _CLOCK & _CLOCK_MASK)


@implements(contract.repetitions, Checkers)
@inner
def _repetitions(game):
    return game.repetition_limit


@implements(contract.quiet, Checkers)
@inner
def _quiet(game, state):
    own, opp = state[0] & kernels.FULL, state[0] >> 32 & kernels.FULL
    jumper = (state[1] >> _JUMPER & 0xFF) - 1
    _, _, _, _, jumps = kernels.legal_hops(own, opp, state[1] & kernels.FULL, jumper)
    return not jumps


@implements(contract.encode, Checkers)
@inner
def _encode(game, state, out):
    kernels.write_board(state[0] & kernels.FULL, state[0] >> 32 & kernels.FULL, state[1] & kernels.FULL, out)
    out[32] = (state[1] >> _JUMPER & 0xFF) - 1
    out[33] = min(state[1] >> _CLOCK & _CLOCK_MASK, 127)


@implements(contract.decode, Checkers)
@inner
def _decode(game, board):
    own, opp, kings = np.int64(0), np.int64(0), np.int64(0)
    for i in range(32):
        piece = board[i]
        bit = np.int64(1) << i
        own |= bit if piece > 0 else 0
        opp |= bit if piece < 0 else 0
        kings |= bit if abs(piece) == 3 else 0
    second = kings | np.int64(board[32] + 1) << _JUMPER | np.int64(board[33]) << _CLOCK
    return own | opp << 32, second


@implements(contract.tablebase_value, Checkers)
@inner
def _tablebase_value(game, state):
    own, opp = state[0] & kernels.FULL, state[0] >> 32 & kernels.FULL
    if kernels.popcount(own | opp) > game.pieces:
        return NONE, 0
    value = tablebase_value(
        own,
        opp,
        state[1] & kernels.FULL,
        (state[1] >> _JUMPER & 0xFF) - 1,
        state[1] >> _CLOCK & _CLOCK_MASK,
        game.halfmove_limit,
        game.values,
        game.lookup,
    )
    if value == UNKNOWN:
        return NONE, 0
    if value == DRAWN:
        return DRAW, 0
    return (WIN if value & 1 else LOSS), value
