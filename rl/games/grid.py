"""Games of stones on a grid, tic-tac-toe and Connect-4, as people and matches see them.

A move is one action; its text is the action counted from 1, a square or a column. The first player is called
Black, as in English draughts, and "1-0" means that it won.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ckai.game import MoveError, Outcome
from ckai.game.jit import quick_kernel
from ckai.rl.games import contract
from ckai.rl.games.contract import State, as_state
from ckai.rl.games.spec import GameSpec


class GridReason(StrEnum):
    """Why a game is over."""

    LINE = "a line of stones"
    FULL = "the board is full"


class GridMove(NamedTuple):
    """A stone set."""

    action: int

    @property
    def actions(self) -> tuple[int, ...]:
        """The hops of the move: one."""
        return (self.action,)

    def __str__(self) -> str:
        return str(self.action + 1)


@quick_kernel
def _look(game, state, actions):  # type: ignore[no-untyped-def]
    """Fill `actions`; return (their number, whether the game is over, value for the side to move)."""
    count = contract.legal(game, state, actions)  # type: ignore[no-untyped-call]
    over, value = contract.outcome(game, state, count)  # type: ignore[no-untyped-call]
    return count, over, value


@quick_kernel
def _play(game, state, action):  # type: ignore[no-untyped-def]
    after, _ = contract.play(game, state, action)  # type: ignore[no-untyped-call]
    return after


@dataclass(frozen=True)
class GridPosition:
    """A position; `rules` are the game as the search knows it."""

    rules: Any
    state: State = (0, 0)
    """Stones of the side to move and of the other, see `ckai.rl.games.tictactoe` and `ckai.rl.games.connect4`."""

    @property
    def black(self) -> bool:
        """Whether the first player is to move."""
        return (self.state[0] | self.state[1]).bit_count() % 2 == 0

    @property
    def key(self) -> State:
        """What tells positions apart."""
        return self.state

    def legal_moves(self) -> list[GridMove]:
        """The moves, none if the game is over."""
        actions, over, _ = self._look()
        return [] if over else [GridMove(action) for action in actions]

    def push(self, move: GridMove) -> "GridPosition":
        """The position after a legal move."""
        return GridPosition(self.rules, as_state(_play(self.rules, self._words(), np.int64(move.action))))

    def move_of(self, hops: Sequence[int]) -> GridMove | None:
        """The move of these actions; see `ckai.game.Position.move_of`."""
        return GridMove(hops[0]) if hops else None

    def find_move(self, text: str) -> GridMove:
        """The legal move of a text.

        Raises:
            MoveError: there is none.
        """
        moves = self.legal_moves()
        for move in moves:
            if str(move) == text.strip():
                return move
        raise MoveError(f"expected a move of {', '.join(map(str, moves)) or 'none'}, found {text!r}")

    def outcome(self) -> Outcome | None:
        """The end of the game, or None while it goes on."""
        _, over, value = self._look()
        if not over:
            return None
        if value == 0:
            return Outcome(None, GridReason.FULL)
        return Outcome("white" if self.black else "black", GridReason.LINE)

    def _words(self) -> tuple[np.int64, ...]:
        return tuple(np.int64(word) for word in self.state)

    def _look(self) -> tuple[list[int], bool, float]:
        actions = np.empty(self.rules.MAX_LEGAL_ACTIONS, np.uint8)
        count, over, value = _look(self.rules, self._words(), actions)
        return actions[:count].tolist(), bool(over), float(value)


class GridGame:
    """A line of moves from a first position."""

    def __init__(self, start: GridPosition) -> None:
        self.positions = [start]
        self.moves: list[GridMove] = []

    @property
    def position(self) -> GridPosition:
        """The position now."""
        return self.positions[-1]

    def push(self, move: GridMove | str) -> GridMove:
        """Play a move.

        Raises:
            MoveError: a text that is no legal move; the game is unchanged.
        """
        found = self.position.find_move(move) if isinstance(move, str) else move
        self.positions.append(self.position.push(found))
        self.moves.append(found)
        return found

    def outcome(self) -> Outcome | None:
        """See `GridPosition.outcome`."""
        return self.position.outcome()

    def text(self, headers: dict[str, str], result: str) -> str:
        """The game in the form of PDN: tags, numbered moves, result."""
        first = self.positions[0]
        tags = {**headers, "Result": result}
        if any(first.state):
            tags["Setup"] = " ".join(map(str, first.state))
        words = [f"{i // 2 + 1}. {move}" if i % 2 == 0 else str(move) for i, move in enumerate(self.moves)]
        lines = [f'[{name} "{value}"]' for name, value in tags.items()]
        return "\n".join([*lines, "", " ".join([*words, result]), "", ""])


@cache
def solve(position: GridPosition) -> int:
    """The true value for the side to move, 1, 0 or -1, by trying everything: for small games."""
    _, over, value = position._look()
    if over:
        return int(value)
    return max(-solve(position.push(move)) for move in position.legal_moves())


class GridSpec(GameSpec):
    """A game of stones on a grid."""

    def position(self, state: State | None = None) -> GridPosition:
        """See `GameSpec.position`."""
        return GridPosition(self.rules, state or (0, 0))

    def state(self, position: GridPosition) -> State:
        """See `GameSpec.state`."""
        return position.state

    def game(self, position: GridPosition | None = None) -> GridGame:
        """See `GameSpec.game`."""
        return GridGame(position or self.position())

    def to_pdn(self, game: GridGame, headers: dict[str, str], result: str) -> str:
        """Return the game in the form of PDN."""
        return game.text(headers, result)

    def solve(self, position: GridPosition) -> int:
        """See `GameSpec.solve`."""
        if not self.solvable:
            return super().solve(position)
        return solve(position)
