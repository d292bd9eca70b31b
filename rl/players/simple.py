"""Players without a search: random moves, and perfect ones in games with a solver."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ckai.rl.games.clock import Clock
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.solving import Solver
from ckai.rl.games.spec import GameSpec
from ckai.rl.players.player import MoveSide, Side


class _RandomSide(MoveSide):
    def choose(self, game: Any, random: np.random.Generator, clock: Clock | None = None) -> Any:
        moves = game.position.legal_moves()
        return moves[random.integers(len(moves))]


@dataclass(frozen=True)
class RandomPlayer:
    """Plays a random legal move, uniformly distributed."""

    spec: GameSpec = DEFAULT_GAME
    timed = False
    control = None

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _RandomSide(boards, self.spec)


class _PerfectSide(MoveSide):
    def __init__(self, boards: int, spec: GameSpec, solver: Solver) -> None:
        super().__init__(boards, spec)
        self.solver = solver

    def choose(self, game: Any, random: np.random.Generator, clock: Clock | None = None) -> Any:
        truths = self.solver.moves(game.position)
        best = max(truth.order for truth in truths.values())
        moves = [move for move, truth in truths.items() if truth.order == best]
        return moves[random.integers(len(moves))]


@dataclass(frozen=True)
class PerfectPlayer:
    """Plays a random one of the best moves, in a game with a solver: the fastest wins, the slowest losses."""

    spec: GameSpec
    timed = False
    control = None

    def sit(self, boards: int) -> Side:
        """See `Player`.

        Raises:
            ValueError: the game has no solver.
        """
        if self.spec.solver is None:
            raise ValueError(f"expected a game with a solver, found {self.spec.name}")
        return _PerfectSide(boards, self.spec, self.spec.solver())
