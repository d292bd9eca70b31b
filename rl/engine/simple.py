"""Engines without a search: random moves, and perfect ones in games with a solver."""

import random
from typing import Any

from ckai.rl.engine.base import MoveEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.stop import Stop
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


class RandomEngine(MoveEngine):
    """Plays a random legal move, uniformly distributed."""

    name = "random"

    def __init__(self, spec: GameSpec = DEFAULT_GAME, *, seed: int | None = None) -> None:
        """Create the engine; see `Engine`."""
        super().__init__(seed=seed)
        self.spec = spec

    def _copy(self) -> "RandomEngine":
        return RandomEngine(self.spec)

    def _choose(self, game: Any, limit: Limit, chance: random.Random, stop: Stop) -> Any:
        return chance.choice(game.position.legal_moves())


class PerfectEngine(MoveEngine):
    """Plays a random one of the best moves, in a game with a solver: the fastest wins, the slowest losses."""

    name = "perfect"

    def __init__(self, spec: GameSpec, *, seed: int | None = None) -> None:
        """Create the engine; see `Engine`.

        Raises:
            ValueError: the game has no solver.
        """
        super().__init__(seed=seed)
        if spec.solver is None:
            raise ValueError(f"perfect: expected a game that can be solved, found {spec.name}")
        self.spec, self._solver = spec, spec.solver()

    def _copy(self) -> "PerfectEngine":
        return PerfectEngine(self.spec)

    def _choose(self, game: Any, limit: Limit, chance: random.Random, stop: Stop) -> Any:
        truths = self._solver.moves(game.position)
        best = max(truth.order for truth in truths.values())
        return chance.choice([move for move, truth in truths.items() if truth.order == best])
