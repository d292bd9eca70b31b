"""Engines that say nothing but their move: random moves, alpha-beta on material, perfect play."""

from typing import Any

import numpy as np

from ckai.game import Game, Move
from ckai.game.material import UNBOUNDED, alpha_beta
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.task import Task
from ckai.rl.engine.text import DEFAULT_DEPTH
from ckai.rl.games.checkers.openings import VALUES
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


class RandomEngine(Engine):
    """Plays a random legal move, uniformly distributed."""

    name = "random"

    def __init__(self, spec: GameSpec = DEFAULT_GAME, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self.spec = spec

    def _search(self, task: Task) -> Any:
        return task.chance.choice(task.game.position.legal_moves())


class PerfectEngine(Engine):
    """Plays a random one of the best moves, in a game with a solver: the fastest wins, the slowest losses."""

    name = "perfect"

    def __init__(self, spec: GameSpec, *, seed: int | None = None) -> None:
        super().__init__(seed=seed)
        assert spec.solver is not None
        self.spec, self._solver = spec, spec.solver()

    def _copy(self) -> "PerfectEngine":
        return PerfectEngine(self.spec)  # a solver has a memory

    def _search(self, task: Task) -> Any:
        truths = self._solver.moves(task.game.position)
        best = max(truth.order for truth in truths.values())
        return task.chance.choice([move for move, truth in truths.items() if truth.order == best])


class MaterialEngine(Engine):
    """Alpha-beta search of material to a depth: a simple opponent whose strength is its depth.

    A man is worth 100, a king 130; ties are broken at random. A quiescence search of captures follows at the
    leaves, see `ckai.game.material`.
    """

    name = "alphabeta"
    takes = frozenset(("depth",))
    default_limit = Limit(depth=DEFAULT_DEPTH)

    def _search(self, task: Task) -> Move:
        values = material_values(task.game, task.limit.depth or DEFAULT_DEPTH)
        best = max(values.values())
        return task.chance.choice([move for move, value in values.items() if value == best])


def material_values(game: Game, depth: int) -> dict[Move, int]:
    """Return the value of every legal move for the side to move, in hundredths of a man.

    Values below the best may be upper bounds.

    Args:
        game: the game; only its current position counts.
        depth: depth in plies, 1 or more.
    """
    values: dict[Move, int] = {}
    for move in game.position.legal_moves():
        after, best = game.position.push(move), max(values.values(), default=-UNBOUNDED)
        numbers = (after.own, after.opp, after.kings, -1, after.halfmove_clock, depth - 1)
        # The window is one below the best, so that ties are exact.
        window = np.int64(-UNBOUNDED), np.int64(-best + 1)
        values[move] = -int(alpha_beta(*map(np.int64, numbers), *window, VALUES))
    return values
