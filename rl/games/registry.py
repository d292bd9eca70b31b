"""The games that the loop of self-play and the matches know: one object for each says what they need.

A small game comes in by a file such as `ckai.rl.games.connect4`, an encoding in `ckai.models.inputs.encodings` and a line
in `KINDS`. A position of any kind has `black`, `key`, `legal_moves`, `push` and `move_of`, and a game
`position`, `moves`, `push` and `outcome`, as `ckai.game` has them.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ckai.datasets.schema import CHECKERS as CHECKERS_NAME
from ckai.datasets.schema import selfplay_schema
from ckai.datasets.tables import Tables
from ckai.game import Game, Position
from ckai.rl.games.checkers import Checkers, halfmove_clocks_of, pack, unpack
from ckai.rl.games.connect4 import Connect4
from ckai.rl.games.contract import State
from ckai.rl.games.grid import GridGame, GridPosition
from ckai.rl.games.tictactoe import TicTacToe


class Kind(ABC):
    """A game.

    Attributes:
        name: as commands and files call it.
        bare: its usual rules for the search, without endgame tables.
    """

    name: str
    bare: Any

    def rules(self, tables: Tables | None = None, **limits: int) -> Any:
        """The rules for the search; `limits` are `halfmove_limit` and `repetition_limit` of checkers."""
        return self.bare

    @property
    def schema(self) -> pa.Schema:
        """Of its rows."""
        # Behind the squares are the jumper and the halfmove clock.
        return selfplay_schema(self.name, self.bare.BYTES - 2)

    @abstractmethod
    def position(self, state: State | None = None) -> Any:
        """The position of a state of the search; None: the first of a game."""

    @abstractmethod
    def state(self, position: Any) -> State:
        """The state of a position."""

    @abstractmethod
    def game(self, position: Any) -> Any:
        """A game that begins there."""

    def halfmove_clock(self, states: NDArray[np.int64]) -> NDArray[np.int16]:
        """`[N]` halfmove clocks of states `[N, 2]`."""
        return np.zeros(len(states), np.int16)


class CheckersKind(Kind):
    """English draughts."""

    name = CHECKERS_NAME
    bare = Checkers()

    def rules(self, tables: Tables | None = None, **limits: int) -> Any:
        """See `Kind.rules`."""
        return Checkers(**limits).with_tables(tables)

    def position(self, state: State | None = None) -> Position:
        """See `Kind.position`."""
        return Position.start() if state is None else unpack(state)

    def state(self, position: Position) -> State:
        """See `Kind.state`."""
        return pack(position)

    def game(self, position: Position) -> Game:
        """See `Kind.game`."""
        return Game(position)

    def halfmove_clock(self, states: NDArray[np.int64]) -> NDArray[np.int16]:
        """See `Kind.halfmove_clock`."""
        return halfmove_clocks_of(states)


class StonesKind(Kind):
    """A game of stones, see `ckai.rl.games.grid`."""

    def __init__(self, name: str, bare: Any) -> None:
        self.name, self.bare = name, bare

    def position(self, state: State | None = None) -> GridPosition:
        """See `Kind.position`."""
        return GridPosition(self.bare, state or (0, 0))

    def state(self, position: GridPosition) -> State:
        """See `Kind.state`."""
        return position.state

    def game(self, position: GridPosition) -> GridGame:
        """See `Kind.game`."""
        return GridGame(position)


CHECKERS: Kind = CheckersKind()
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (CHECKERS, StonesKind("tictactoe", TicTacToe()), StonesKind("connect4", Connect4()))
}


def kind_of(name: str) -> Kind:
    """The game of a name.

    Raises:
        ValueError: there is none.
    """
    if name not in KINDS:
        raise ValueError(f"expected one of the games {', '.join(KINDS)}, found {name!r}")
    return KINDS[name]
