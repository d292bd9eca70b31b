"""Checkers as a game of the registry."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.tables import Tables
from ckai.datasets.tables.solve import DRAWN, UNKNOWN
from ckai.game import Game, Move, Position
from ckai.game.svg import DRAUGHTS
from ckai.pdn import from_game, write_game
from ckai.rl.games.checkers.openings import balanced_openings
from ckai.rl.games.checkers.rules import (
    Checkers,
    black_to_move,
    boards_of,
    halfmove_clocks_of,
    pack,
    unpack,
)
from ckai.rl.games.contract import State
from ckai.rl.games.spec import NOT_IN_TABLES, GameSpec


class CheckersSpec(GameSpec):
    """English draughts. In the mover's view the board has no symmetry but the identity."""

    name = "checkers"
    rules = Checkers()
    encoding = None
    plies = 90
    supports_tables = True
    supports_experts = True
    layout = DRAUGHTS

    def make_rules(self, tables: Tables | None = None, **limits: int) -> Any:
        """See `GameSpec.make_rules`."""
        return Checkers(**limits).with_tables(tables)

    def position(self, state: State | None = None) -> Position:
        """See `GameSpec.position`."""
        return Position.start() if state is None else unpack(state)

    def state(self, position: Position) -> State:
        """See `GameSpec.state`."""
        return pack(position)

    def game(self, position: Position | None = None) -> Game:
        """See `GameSpec.game`."""
        return Game(position)

    def to_pdn(self, game: Game, headers: dict[str, str], result: str) -> str:
        """Return the game as PDN; a FEN tag gives the first position where it is not the usual one."""
        return write_game(from_game(game, headers, result))

    def halfmove_clocks(self, states: NDArray[np.int64]) -> NDArray[np.int16]:
        """See `GameSpec.halfmove_clocks`."""
        return halfmove_clocks_of(states)

    def table_results(self, states: NDArray[np.int64], tables: Tables) -> NDArray[np.int8]:
        """See `GameSpec.table_results`."""
        values = tables.probe_many(boards_of(states))
        mover = np.where(values == DRAWN, 0, np.where(values & 1, 1, -1))
        results = np.where(black_to_move(states), mover, -mover)
        return np.where(values == UNKNOWN, NOT_IN_TABLES, results).astype(np.int8)

    def pieces(self, position: Position) -> dict[int, str]:
        """See `GameSpec.pieces`."""
        letters = {square: position.piece(square) for square in DRAUGHTS.squares}
        return {square: letter for square, letter in letters.items() if letter != "."}

    def path(self, position: Position, move: Move) -> tuple[int, ...]:
        """See `GameSpec.path`."""
        return tuple(move.path)

    def openings(self, plies: int = 3, max_men_lost: int = 0) -> tuple[Position, ...]:
        """Return the positions in which no side loses a man by force, see `balanced_openings`."""
        return balanced_openings(plies, max_men_lost=max_men_lost)


SPEC = CheckersSpec()
