"""What a match asks of a player, which chooses actions (hops) for several boards at once."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ckai.rl.games.clock import Clock, TimeControl
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

RESIGN = -1
"""In place of an action: the player resigns the game."""


class ResignsError(RuntimeError):
    """A player resigns in place of a move."""


class Side(Protocol):
    """A player's state on its boards; `play` passes it every action of both sides."""

    def start(self, board: int, position: Any, stream: int, clock: Clock | None = None) -> None:
        """Start a game on a board; `stream` seeds its random choices.

        `clock` is the player's clock if it has a time control; it runs while the player is to move.
        """

    def actions(self, boards: Sequence[int]) -> list[int]:
        """Return a legal action for each of these boards, where the player is to move, or `RESIGN`."""

    def play(self, board: int, action: int) -> None:
        """Apply an action of either side."""

    def stop(self) -> None:
        """Make `actions` return soon; may be called from any thread. Players that cannot do it do nothing."""

    def close(self) -> None:
        """Release all resources."""


class Player(Protocol):
    """A player of matches."""

    @property
    def timed(self) -> bool:
        """Whether the player moves by time, so that each thread plays one board at a time."""

    @property
    def control(self) -> TimeControl | None:
        """The time control of the player's games; None: it has no clock."""

    def sit(self, boards: int) -> Side:
        """Create the state for `boards` boards; called once per thread of a match."""


class MoveSide(ABC):
    """A side that chooses whole moves, one board at a time; subclasses implement `choose`."""

    def __init__(self, boards: int, spec: GameSpec = DEFAULT_GAME) -> None:
        self.spec = spec
        self.games = [spec.game(spec.position()) for _ in range(boards)]
        self.hops: list[list[int]] = [[] for _ in range(boards)]
        self.plans: list[list[int]] = [[] for _ in range(boards)]
        self.random = [np.random.default_rng(0) for _ in range(boards)]
        self.clocks: list[Clock | None] = [None] * boards

    @abstractmethod
    def choose(self, game: Any, random: np.random.Generator, clock: Clock | None = None) -> Any:
        """Return the move to play."""

    def start(self, board: int, position: Any, stream: int, clock: Clock | None = None) -> None:
        """See `Side`."""
        self.games[board], self.clocks[board] = self.spec.game(position), clock
        self.hops[board], self.plans[board] = [], []
        self.random[board] = np.random.default_rng(stream)

    def actions(self, boards: Sequence[int]) -> list[int]:
        """See `Side`."""
        for board in boards:
            if not self.plans[board]:
                move = self.choose(self.games[board], self.random[board], self.clocks[board])
                if move is None:
                    raise ValueError(f"{type(self).__name__}.choose: expected a move to play, found None")
                self.plans[board] = list(move.actions)
        return [self.plans[board][0] for board in boards]

    def play(self, board: int, action: int) -> None:
        """See `Side`."""
        self.plans[board] = self.plans[board][1:]
        self.hops[board].append(action)
        game = self.games[board]
        whole = game.position.move_of(self.hops[board])
        if whole is not None:
            game.push(whole)
            self.hops[board] = []

    def stop(self) -> None:
        """See `Side`."""
        return

    def close(self) -> None:
        """See `Side`."""
        self.games.clear()
