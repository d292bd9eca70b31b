"""Engines that say nothing but their move: random moves, alpha-beta on material, perfect play."""

from typing import Any

import numpy as np

from ckai.game import Move
from ckai.game.material import UNBOUNDED, alpha_beta
from ckai.rl.engine.base import Engine, Task
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.text import DEFAULT_DEPTH
from ckai.rl.games.checkers import VALUES
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


class RandomEngine(Engine):
    """Plays a random legal move, uniformly distributed."""

    name = "random"

    def __init__(self, spec: GameSpec = DEFAULT_GAME, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.spec = spec
        self._open()

    def _search(self, task: Task) -> Any:
        return task.chance.choice(task.game.position.legal_moves())


class PerfectEngine(RandomEngine):
    """Plays a random one of the best moves, in a game with a solver: the fastest wins, the slowest losses."""

    name = "perfect"

    def _open(self, of: Any = None) -> None:
        assert self.spec.solver is not None
        self._solver = self.spec.solver()

    def _search(self, task: Task) -> Any:
        truths = self._solver.moves(task.game.position)
        best = max(truth.order for truth in truths.values())
        return task.chance.choice([move for move, truth in truths.items() if truth.order == best])


class MaterialEngine(RandomEngine):
    """Alpha-beta search of material to a depth: a simple opponent whose strength is its depth.

    A man is worth 100, a king 130; ties are broken at random. A quiescence search of captures follows at the
    leaves, see `ckai.game.material`.
    """

    name = "alphabeta"
    takes = frozenset(("depth",))
    default_limit = Limit(depth=DEFAULT_DEPTH)

    def _search(self, task: Task) -> Any:
        here, depth, values = task.game.position, (task.limit.depth or DEFAULT_DEPTH) - 1, dict[Move, int]()
        for move in here.legal_moves():
            after, best = here.push(move), max(values.values(), default=-UNBOUNDED)
            numbers = (after.own, after.opp, after.kings, -1, after.halfmove_clock, depth)
            # The window is one below the best, so that ties are exact.
            window = np.int64(-UNBOUNDED), np.int64(-best + 1)
            values[move] = -int(alpha_beta(*map(np.int64, numbers), *window, VALUES))
        best = max(values.values())
        return task.chance.choice([move for move, value in values.items() if value == best])
