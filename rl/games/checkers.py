"""English draughts as a game of the search. One label is one hop; the state carries the jumper."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ckai.game import QUIET_LIMIT, REPETITION_LIMIT, Position, kernels
from ckai.datasets.tables.probe import sure_value
from ckai.datasets.tables.solve import DRAWN, UNKNOWN
from ckai.rl.games import contract as game_api
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.games.contract import State, game, implements

_JUMPER, _QUIET, _BLACK = 32, 40, 62  # bit offsets in the second word, above the kings
_QUIET_MASK = 0xFFFF

_NO_VALUES, _NO_LOOKUP = np.zeros(0, np.uint8), np.zeros(0, np.int64)

if TYPE_CHECKING:
    from ckai.datasets.tables import Tables


@game(labels=128, size=34)
class Checkers(NamedTuple):
    """The draw rules (see `ckai.game.play`), and the endgames that need no search."""

    quiet_limit: int = QUIET_LIMIT
    repetition_limit: int = REPETITION_LIMIT
    pieces: int = 0
    """Positions of so many pieces or fewer are in the tables."""
    values: Any = _NO_VALUES
    """[positions] uint8, see `ckai.datasets.tables.solve`."""
    lookup: Any = _NO_LOOKUP
    """int64, see `ckai.datasets.tables.index`."""

    def knowing(self, tables: "Tables | None") -> "Checkers":
        """The same rules with endgame tables; None: with none."""
        if tables is None:
            return self._replace(pieces=0, values=_NO_VALUES, lookup=_NO_LOOKUP)
        return self._replace(pieces=tables.pieces, values=tables.values, lookup=tables.layout.lookup)


def pack(position: Position) -> State:
    """The state of a position."""
    first = position.own | position.opp << 32
    second = (
        position.kings
        | (position.jumper + 1) << _JUMPER
        | position.quiet << _QUIET
        | position.black << _BLACK
    )
    return (first - (1 << 64) if first >> 63 else first), second


def unpack(state: State) -> Position:
    """The position of a state."""
    first, second = state[0] & (1 << 64) - 1, state[1]
    return Position(
        first & kernels.FULL,
        first >> 32,
        second & kernels.FULL,
        bool(second >> _BLACK & 1),
        (second >> _JUMPER & 0xFF) - 1,
        second >> _QUIET & _QUIET_MASK,
    )


def quiet_of(states: NDArray[np.int64]) -> NDArray[np.int16]:
    """`[N]` quiet counts of states `[N, 2]`."""
    return (states[:, 1] >> _QUIET & _QUIET_MASK).astype(np.int16)


@implements(game_api.start, Checkers)
@njit(cache=True)
def _start(game):
    return (np.int64(kernels.START) | np.int64(kernels.START_OPP) << 32, np.int64(1) << _BLACK)


@implements(game_api.legal, Checkers)
@njit(cache=True)
def _legal(game, state, out):
    own, opp = state[0] & kernels.FULL, state[0] >> 32 & kernels.FULL
    return kernels.legal_labels(own, opp, state[1] & kernels.FULL, (state[1] >> _JUMPER & 0xFF) - 1, out)


@implements(game_api.play, Checkers)
@njit(cache=True)
def _play(game, state, label):
    own, opp, kings, jumper, quiet, passed = kernels.apply_hop(
        state[0] & kernels.FULL,
        state[0] >> 32 & kernels.FULL,
        state[1] & kernels.FULL,
        state[1] >> _QUIET & _QUIET_MASK,
        np.int64(label),
    )
    black = state[1] >> _BLACK & 1
    if passed:
        black = 1 - black
    return (own | opp << 32, kings | (jumper + 1) << _JUMPER | quiet << _QUIET | black << _BLACK), passed


@implements(game_api.outcome, Checkers)
@njit(cache=True)
def _outcome(game, state, count):
    if count == 0:
        return True, -1.0
    return (state[1] >> _QUIET & _QUIET_MASK) >= game.quiet_limit, 0.0


@implements(game_api.key, Checkers)
@njit(cache=True)
def _key(game, state):
    return state[0], state[1] & ~(np.int64(_QUIET_MASK) << _QUIET)


@implements(game_api.lookback, Checkers)
@njit(cache=True)
def _lookback(game, state):
    return state[1] >> _QUIET & _QUIET_MASK


@implements(game_api.repetitions, Checkers)
@njit(cache=True)
def _repetitions(game):
    return game.repetition_limit


@implements(game_api.lookahead, Checkers)
@njit(cache=True)
def _lookahead(game):
    return False


@implements(game_api.encode, Checkers)
@njit(cache=True)
def _encode(game, state, out):
    kernels.write_board(state[0] & kernels.FULL, state[0] >> 32 & kernels.FULL, state[1] & kernels.FULL, out)
    out[32] = (state[1] >> _JUMPER & 0xFF) - 1
    out[33] = min(state[1] >> _QUIET & _QUIET_MASK, 127)


@implements(game_api.known, Checkers)
@njit(cache=True)
def _known(game, state):
    own, opp = state[0] & kernels.FULL, state[0] >> 32 & kernels.FULL
    if kernels.popcount(own | opp) > game.pieces:
        return NONE, 0
    value = sure_value(
        own,
        opp,
        state[1] & kernels.FULL,
        (state[1] >> _JUMPER & 0xFF) - 1,
        state[1] >> _QUIET & _QUIET_MASK,
        game.quiet_limit,
        game.values,
        game.lookup,
    )
    if value == UNKNOWN:
        return NONE, 0
    if value == DRAWN:
        return DRAW, 0
    return (WIN if value & 1 else LOSS), value
