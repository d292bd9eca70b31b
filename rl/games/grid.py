"""Positions, moves and games of stones on a grid: what tic-tac-toe and Connect-4 share.

A move is one action; its text is the action counted from 1, a square or a column. The first player is called
Black, as in English draughts, and "1-0" means that it won.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ckai.game import Game, MoveError, Outcome
from ckai.game.jit import quick_kernel
from ckai.game.outcome import Color
from ckai.rl.games import contract
from ckai.rl.games.contract import State


class GridReason(StrEnum):
    """Why a game is over."""

    LINE = "a line of stones"
    FULL = "the board is full"


class GridMove(NamedTuple):
    """Placing a stone; `action` is the square or the column."""

    action: int

    @property
    def actions(self) -> tuple[int, ...]:
        """The one action of the move."""
        return (self.action,)

    def __str__(self) -> str:
        return str(self.action + 1)


@quick_kernel
def _legal_and_outcome(game, state, actions):  # type: ignore[no-untyped-def]
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
    """A position of a game of stones."""

    rules: Any
    """The rules, see `ckai.rl.games.contract`."""
    state: State = (0, 0)
    """Stones of the side to move and of the other side as bit boards, see the module of the game."""

    @property
    def black(self) -> bool:
        """Whether the first player is to move."""
        return (self.state[0] | self.state[1]).bit_count() % 2 == 0

    @property
    def turn(self) -> Color:
        """The side to move."""
        return Color.BLACK if self.black else Color.WHITE

    @property
    def key(self) -> State:
        """The state; equal for equal positions."""
        return self.state

    def legal_moves(self) -> list[GridMove]:
        """Return the legal moves, none if the game is over."""
        actions, over, _ = self._legal_and_outcome
        return [] if over else [GridMove(action) for action in actions]

    def push(self, move: Any) -> "GridPosition":
        """Return the position after a legal move."""
        return GridPosition(self.rules, _play(self.rules, self.state, move.action))

    def move_of(self, hops: Sequence[int]) -> GridMove | None:
        """Return the move of these actions; see `ckai.game.Position.move_of`."""
        return GridMove(hops[0]) if len(hops) == 1 else None

    def find_move(self, text: str) -> GridMove:
        """Return the legal move with a text, which a dot may follow and zeros may precede.

        Raises:
            MoveError: there is none.
        """
        moves = self.legal_moves()
        for move in moves:
            if str(move) == text.strip().rstrip(".").lstrip("0"):
                return move
        names = [*map(str, moves[:9]), *["..."] * (len(moves) > 9)]
        raise MoveError(f"expected one of the moves {', '.join(names) or 'none'}, found {text[:40]!r}")

    def outcome(self) -> Outcome | None:
        """Return how the game ended, or None while it is in progress."""
        _, over, value = self._legal_and_outcome
        if not over:
            return None
        if value == 0:
            return Outcome(None, GridReason.FULL)
        return Outcome("black" if self.black == (value > 0) else "white", GridReason.LINE)

    @cached_property
    def _legal_and_outcome(self) -> tuple[list[int], bool, float]:
        actions = np.empty(self.rules.MAX_LEGAL_ACTIONS, np.uint8)
        count, over, value = _legal_and_outcome(self.rules, self.state, actions)
        return actions[:count].tolist(), bool(over), float(value)


class GridGame(Game):
    """A game of stones: its rules end it, no draw rule does."""

    _repr_svg_ = None  # type: ignore[assignment]  # a notebook shows its `repr`

    def __init__(self, start: Any) -> None:
        super().__init__(start)

    def outcome(self) -> Outcome | None:
        """Return how the game ended, see `GridPosition.outcome`."""
        ended: Outcome | None = self.position.outcome()
        return ended
