"""What a game is to the search: a few jitted functions, chosen at compile time by the game's type.

A game is a `NamedTuple` of its settings under the decorator `game`, which gives it its constants, plus one
implementation of every function below, registered with `implements`; `tablebase_value` may be left out. The search
calls these functions with the game as first argument and knows nothing else of it. A state is a pair of
int64; whose turn it is belongs to the state, and every value is meant for the side to move.
"""

import copyreg
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.extending import overload

NONE, WIN, LOSS, DRAW = 0, 1, 2, 3
"""What is proven of a state, for the side to move."""

MAX_LEGAL_ACTIONS = 64
"""At least as many actions as are ever legal at once."""

State = tuple[int, int]
C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


class _Game(type):
    """The type of games. Numba's cache stores a game as its name, see `_find`."""


def _find(module: str, name: str) -> _Game:
    """A game by its name; one that this process does not know stands for nothing.

    A game of somebody's script ends up in the same files of Numba's cache as checkers does. Without this, a
    process that cannot import that script could not read those files at all.
    """
    tablebase_value = getattr(sys.modules.get(module), name, None)
    return tablebase_value if isinstance(tablebase_value, _Game) else _Game("UnknownGame", (), {})


copyreg.pickle(_Game, lambda cls: (_find, (cls.__module__, cls.__qualname__)))


def game(*, actions: int, size: int) -> Callable[[C], C]:
    """Make a `NamedTuple` a game.

    Args:
        actions: number of move actions, the constant `NUM_ACTIONS`; at most 64 may be legal at once.
        size: bytes of an encoded state, the constant `BYTES`.
    """

    def make(settings: C) -> C:
        constants = {"__slots__": (), "__doc__": settings.__doc__, "NUM_ACTIONS": actions, "BYTES": size}
        names = {"__module__": settings.__module__, "__qualname__": settings.__qualname__}
        made: Any = _Game(settings.__name__, (settings,), {**constants, **names})
        return made  # type: ignore[no-any-return]

    return make


def start(game):
    """The first state."""
    raise TypeError("only inside jitted code")


def legal(game, state, out):
    """Write the legal actions, ascending, into `out`; return their number."""
    raise TypeError("only inside jitted code")


def play(game, state, action):
    """Return (state after the action, whether the turn passed to the other side)."""
    raise TypeError("only inside jitted code")


def outcome(game, state, count):
    """Return (over, value for the side to move: 1, 0 or -1), `count` legal actions given; repetition apart."""
    raise TypeError("only inside jitted code")


def key(game, state):
    """The part of a state that must be equal for a repetition."""
    raise TypeError("only inside jitted code")


def repetition_window(game, state):
    """How many states back a repetition of this one can lie; 0 if it cannot have stood before."""
    raise TypeError("only inside jitted code")


def repetitions(game):
    """How often a state must stand for a draw; 0 if the game has no such rule."""
    raise TypeError("only inside jitted code")


def lookahead(game):
    """Whether a new position's actions are each tried for the end of the game; where games end suddenly."""
    raise TypeError("only inside jitted code")


def encode(game, state, out):
    """Fill `out` (`[BYTES]` int8) with what a network sees, in mover's view."""
    raise TypeError("only inside jitted code")


def tablebase_value(game, state):
    """Return (proof, plies to the end) of a state that needs no search, for the side to move.

    (NONE, 0) where nothing is tablebase_value. The state is not over. Plies are 0 for a draw.
    """
    raise TypeError("only inside jitted code")


_own: dict[Callable[..., Any], set[type]] = {}
"""The games that have an implementation of a function."""


def implements(function: Callable[..., Any], game_class: type) -> Callable[[F], F]:
    """Register a jitted function as `function` for one game class."""

    _own.setdefault(function, set()).add(game_class)

    def register(implementation: F) -> F:
        @overload(function, strict=False)
        def choose(game, *args):
            if getattr(game, "instance_class", None) is not game_class:
                return None
            return lambda game, *args: implementation(game, *args)

        return implementation

    return register


def otherwise(function: Callable[..., Any]) -> Callable[[F], F]:
    """Register a jitted function as `function` for the games that have none of their own."""

    def register(implementation: F) -> F:
        @overload(function, strict=False)
        def choose(game, *args):
            if getattr(game, "instance_class", None) in _own.get(function, ()):
                return None
            return lambda game, *args: implementation(game, *args)

        return implementation

    return register


@otherwise(tablebase_value)
@njit(cache=True)
def _no_tablebase(game, state):
    return NONE, 0
