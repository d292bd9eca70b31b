"""The contract between a game and the search: compiled functions, selected by the type of the game.

A game's rules are a `NamedTuple` of its settings under the decorator `game`, which gives it its constants,
plus implementations of the functions below, registered with `implements`. Most have a default; the one of
`encode` is for games of stones on squares, which have `bits`. The search calls these functions with the rules
as first argument and uses nothing else of a game. A state is a tuple of int64 words; the side to move is part
of the state, and every value is for the side to move.

`ckai.rl.games.spec` is the other half: what matches, self-play and commands need of a game.
"""

import copyreg
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from numba.extending import overload
from numba.np.unsafe.ndarray import to_fixed_tuple

from ckai.datasets.split import below
from ckai.game.jit import HOT, inner

NONE, WIN, LOSS, DRAW = 0, 1, 2, 3
"""Proven results of a state, for the side to move; NONE: not proven."""

MAX_ACTIONS = 256
"""Most actions of a game: trees and rows store an action in one byte."""
MAX_LEGAL_ACTIONS = 255
"""Most actions of a game that are legal at once: trees and rows count them in one byte."""
MEAN_LEGAL_ACTIONS = 14
"""Actions with memory in each state where a game does not say; checkers has 6 on average, with kings 12."""

State = tuple[int, ...]
"""As many int64 words as the game's `STATE_WORDS`."""
C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


class _Game(type):
    """The metaclass of rules. Numba's cache stores such a class by its name, see `_find`."""


def _find(module: str, name: str) -> _Game:
    """Return a game by its name, or a stand-in if this process does not have it.

    A game from a user's script ends up in the same files of Numba's cache as the games that ship. Without
    this, a process that cannot import that script could not read those files at all.
    """
    game = getattr(sys.modules.get(module), name, None)
    return game if isinstance(game, _Game) else _Game("UnknownGame", (), {})


copyreg.pickle(_Game, lambda cls: (_find, (cls.__module__, cls.__qualname__)))


def game(
    *,
    num_actions: int,
    max_legal_actions: int,
    bits: Sequence[int] = (),
    position_bytes: int = 0,
    state_words: int = 2,
    mean_legal_actions: int = MEAN_LEGAL_ACTIONS,
    lookahead: bool = False,
) -> Callable[[C], C]:
    """Make a `NamedTuple` the rules of a game.

    The class may have a property `history`: how many earlier states a repetition can reach, 0 if it has none.

    Args:
        num_actions: the constant `NUM_ACTIONS`, 1 to `MAX_ACTIONS`.
        max_legal_actions: an upper bound on the actions legal at once, 255 at most.
        bits: in a game of stones on squares the bit of each square, in the order in which networks see them:
            word 0 of a state has the stones of the side to move, word 1 the others.
        position_bytes: in another game the length of an encoded state.
        state_words: int64 words of a state.
        mean_legal_actions: actions for which trees and rows set memory aside per state.
        lookahead: whether the search looks 1 ply ahead for the end of the game from every new node. Worth its
            time in games that end suddenly, by a line of stones.

    Raises:
        ValueError: a constant out of range.
    """
    for name, value, most in (
        ("num_actions", num_actions, MAX_ACTIONS),
        ("max_legal_actions", max_legal_actions, min(num_actions, MAX_LEGAL_ACTIONS)),
    ):
        if not 1 <= value <= most:
            raise ValueError(f"expected {name} from 1 to {most}, found {value}")

    def make(settings: C) -> C:
        members: dict[str, Any] = {
            "__slots__": (),
            "__doc__": settings.__doc__,
            "__module__": settings.__module__,
            "__qualname__": settings.__qualname__,
            "NUM_ACTIONS": num_actions,
            "BITS": tuple(bits),
            "POSITION_BYTES": position_bytes or len(bits) + 2,
            "MAX_LEGAL_ACTIONS": max_legal_actions,
            "STATE_WORDS": state_words,
            "MEAN_LEGAL_ACTIONS": min(mean_legal_actions, max_legal_actions),
            "LOOKAHEAD": lookahead,
            "history": getattr(settings, "history", 0),
        }
        return cast(C, _Game(settings.__name__, (settings,), members))

    return make


# --- what every game implements ----------------------------------------------------------------------

_implementations: dict[Callable[..., Any], set[type]] = {}
"""By function of the contract, the games that implement it themselves."""


def implements(
    function: Callable[..., Any], game_class: type, options: dict[str, Any] = HOT
) -> Callable[[F], F]:
    """Register a function as `function` for one game class; kernels inline it, or not, see `jit.INNER`."""
    _implementations.setdefault(function, set()).add(game_class)
    return _register(function, lambda cls: cls is game_class, options)


def overridable(function: F) -> F:
    """Register a function as its own implementation for all games without another one."""
    return _register(function, lambda cls: cls not in _implementations.get(function, ()), HOT)(function)


def _register(
    function: Callable[..., Any], fits: Callable[[type | None], bool], options: dict[str, Any]
) -> Callable[[F], F]:
    def register(implementation: F) -> F:
        @overload(function, jit_options=options, strict=False)
        def select(game, *args):
            return implementation if fits(getattr(game, "instance_class", None)) else None

        return implementation

    return register


def by_class(options: dict[str, Any] = HOT) -> Callable[[Callable[..., Any]], Any]:
    """Let kernels call, in place of a function, what it returns for the class of their first argument."""

    def make(choose: Callable[..., Any]) -> Any:
        overload(choose, jit_options=options, strict=False)(lambda of, *args: choose(of.instance_class))
        return choose

    return make


def not_implemented(rules: Any) -> list[str]:
    """Return the names of the functions without a default that the class of some rules does not implement."""
    required = (legal, play, outcome, *(() if rules.BITS else (encode,)))
    return [each.__name__ for each in required if type(rules) not in _implementations.get(each, ())]


def legal(game, state, out):
    """Write the legal actions, ascending, into `out`, uint8; return their number."""
    raise TypeError("only inside jitted code")


def play(game, state, action):
    """Return (state after the action, whether the turn passed to the other side).

    The turn passes also with the action that ends the game, which completes its move.
    """
    raise TypeError("only inside jitted code")


def outcome(game, state, count):
    """Return (whether the game is over, value for the side to move: 1.0, 0.0 or -1.0).

    `count` is the number of legal actions. Draws by repetition are detected by the search.
    """
    raise TypeError("only inside jitted code")


@overridable
def encode(game, state, out):
    """Fill `out` (`[POSITION_BYTES]` int8) with the encoded state, in the view of the side to move.

    The last two bytes are the jumper, -1 for none, and the halfmove clock; before them stands the board, in a
    game of stones 1 for an own one and -1 for one of the other side.
    """
    bits = square_bits(game)
    for i in range(len(bits)):
        out[i] = (state[0] >> bits[i] & 1) - (state[1] >> bits[i] & 1)
    out[len(bits)], out[len(bits) + 1] = -1, 0


@overridable
def key(game, state):
    """Return the part of a state that must be equal for a repetition, as many words as a state."""
    return state


@overridable
def repetition_window(game, state):
    """Return how many states back a repetition of this one can lie; 0 if it cannot have occurred before."""
    return np.int64(0)


@overridable
def plies_left(game, state):
    """Return how many plies a rule that counts them, such as the halfmove clock, leaves before a draw."""
    return np.int64(1 << 30)


@overridable
def repetitions(game):
    """Return how many occurrences of a state make a draw; 0 if the game has no such rule."""
    return 0


@overridable
def may_repeat(game, state, action):
    """Return whether a legal action is forbidden if the `key` of the state after it occurred in the game.

    `legal` knows no earlier states; the search removes such actions. False also where the state cannot have
    occurred, which spares the search a comparison.
    """
    return False


@overridable
def quiet(game, state):
    """Return whether a search may stop at a state and trust an evaluation: no capture is pending."""
    return True


@overridable
def tablebase_value(game, state):
    """Return (proof for the side to move, plies to the end of the game) of a state from a tablebase.

    (NONE, 0) if the state is not in it. The game is not over in the state. A draw has 0 plies.
    """
    return NONE, 0


@overridable
def playout(game, state, stream):
    """Play uniformly random legal actions to the end of a game; `stream`, uint64, is a random stream's state.

    Repetitions are not detected: a game whose positions can repeat needs another rule that ends it.

    Returns (result for the side to move in `state`: 1.0, 0.0 or -1.0; state of the stream afterwards).
    """
    out = np.empty(max_legal_actions(game), np.uint8)
    sign = 1.0
    while True:
        count = legal(game, state, out)
        over, value = outcome(game, state, count)
        if over:
            return sign * value, stream
        stream, k = below(stream, count)
        state, passed = play(game, state, np.int64(out[k]))
        if passed:
            sign = -sign


# --- what follows from the constants -------------------------------------------------------------------


@by_class()
def max_legal_actions(rules):
    """Return the constant `MAX_LEGAL_ACTIONS`; in kernels `max_legal_actions(game)`."""
    bound = rules.MAX_LEGAL_ACTIONS
    return lambda game: bound


@by_class()
def square_bits(rules):
    """Return the constant `BITS`, int64; in kernels `square_bits(game)`."""
    bits = np.array(rules.BITS, np.int64)
    return lambda game: bits


@by_class()
def load_state(rules):
    """Return the state that an array of `STATE_WORDS` int64 holds; in kernels `load_state(game, words)`."""
    count = rules.STATE_WORDS
    if count == 2:  # compiles faster
        return lambda game, words: (words[0], words[1])
    return lambda game, words: to_fixed_tuple(words, count)


@inner
def store_state(words, state):
    """Write a state into an array of `STATE_WORDS` int64."""
    for i in range(len(state)):
        words[i] = state[i]


def as_state(words: Any) -> State:
    """Return a state from Python: a tuple of Python integers from any sequence of words."""
    return tuple(int(word) for word in words)
