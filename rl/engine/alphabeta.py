"""Alpha-beta engines: with an integer network, and of material."""

import random
import time

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game import Game, Move
from ckai.game.material import UNBOUNDED, alpha_beta
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.moves import whole_moves
from ckai.rl.alphabeta.search import AlphaBetaResult, AlphaBetaSearch
from ckai.rl.engine.analysis import Publish
from ckai.rl.engine.base import Engine, MoveEngine
from ckai.rl.engine.forms import DEFAULT_DEPTH, DEFAULT_SECONDS
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Line, Proof, SearchResult, StopReason, Value
from ckai.rl.engine.root import Root
from ckai.rl.engine.stop import Stop
from ckai.rl.engine.task import Task
from ckai.rl.engine.tree_reader import turn_of
from ckai.rl.games.checkers.openings import VALUES
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


class AlphaBetaEngine(Engine):
    """Alpha-beta search with an integer network; its table is kept from one search to the next."""

    takes = frozenset(("seconds", "clock", "depth", "nodes"))
    default_limit = Limit(seconds=DEFAULT_SECONDS)
    evaluator: IntegerEvaluator

    def __init__(
        self,
        evaluator: IntegerEvaluator,
        *,
        tables: Tables | None = None,
        spec: GameSpec = DEFAULT_GAME,
        threads: int = 1,
        seed: int | None = None,
        name: str | None = None,
    ) -> None:
        """Allocate the table.

        Args:
            evaluator: the network.
            tables: probed in the search.
            spec: the game.
            threads: threads of a search by time.
            seed: varies the order of moves that are about as good, see `AlphaBetaSearch`; None: it never
                varies.
            name: see `Engine`; None: by the network.
        """
        super().__init__(seed=seed)
        self.evaluator, self.tables, self.spec = evaluator, tables, spec
        self.name = name or f"alphabeta:{evaluator.name}"
        self._alpha_beta = AlphaBetaSearch(
            evaluator, game=spec.make_rules(tables), threads=threads, seed=seed
        )

    def _copy(self) -> "AlphaBetaEngine":
        return AlphaBetaEngine(self.evaluator, tables=self.tables, spec=self.spec)

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        begun, search, state, limit = time.perf_counter(), self._alpha_beta, self.spec.state, task.limit
        times, depth = limit.move_time(len(task.root.history)), limit.depth
        root = task.root.undrawn()
        if limit.clock is not None and len(root.position.legal_moves()) == 1:
            depth = 1
        if not task.reuse:
            search.forget()
        if task.seed is not None:
            search.reseed(task.seed)

        def on_depth(found: AlphaBetaResult) -> None:
            if task.stop.is_set():  # maybe before the search had begun
                search.stop()
            if publish is not None:
                publish(_result(found, root, time.perf_counter() - begun))

        task.stop.attach(search.stop)
        found = search.search(
            state(root.position),
            [state(earlier) for earlier in root.history],
            seconds=None if times is None else times.maximum,
            soft_seconds=None if times is None or limit.clock is None else times.optimum,
            nodes=limit.nodes,
            depth=depth,
            on_depth=on_depth,
        )
        seconds = time.perf_counter() - begun
        if task.stop.is_set():
            reason = StopReason.STOPPED
        elif found.plies is not None:
            reason = StopReason.PROVEN
        elif times is not None and seconds >= times.maximum:
            reason = StopReason.SECONDS if limit.clock is None else StopReason.CLOCK
        elif limit.clock is not None:
            reason = StopReason.DECIDED
        else:
            reason = StopReason.NODES if depth is None else StopReason.DEPTH
        return _result(found, root, seconds, reason)

    def reseed(self, seed: int | None) -> None:
        """See `AnyEngine`."""
        self._alpha_beta.reseed(seed)

    def _forget(self) -> None:
        self._alpha_beta.forget()


def _result(
    found: AlphaBetaResult, root: Root, seconds: float, reason: StopReason | None = None
) -> SearchResult:
    proven: Proof | None = None if found.plies is None else "win" if found.value > 0 else "loss"
    value = Value(found.value, turn_of(root.position))
    pv = whole_moves(root.position, found.pv)
    return SearchResult(
        lines=[Line(pv=pv, value=value, proven=proven, plies=found.plies)],
        value=value,
        seconds=seconds,
        nodes=found.nodes,
        evaluations=found.evaluations,
        depth=found.depth,
        reason=reason,
        proven=proven,
        plies=found.plies,
    )


class MaterialEngine(MoveEngine):
    """Alpha-beta search of material to a depth: a simple opponent whose strength is its depth.

    A man is worth 100, a king 130; ties are broken at random. A quiescence search of captures follows at the
    leaves, see `ckai.game.material`.
    """

    name = "alphabeta"
    takes = frozenset(("depth",))
    default_limit = Limit(depth=DEFAULT_DEPTH)

    def _copy(self) -> "MaterialEngine":
        return MaterialEngine()

    def _choose(self, game: Game, limit: Limit, chance: random.Random, stop: Stop) -> Move:
        values = material_values(game, limit.depth or DEFAULT_DEPTH)
        best = max(values.values())
        return chance.choice([move for move, value in values.items() if value == best])


def material_values(game: Game, depth: int) -> dict[Move, int]:
    """Return the value of every legal move for the side to move, in hundredths of a man.

    Values below the best may be upper bounds.

    Args:
        game: the game; only its current position counts.
        depth: depth in plies, 1 or more.
    """
    values: dict[Move, int] = {}
    best = -UNBOUNDED
    for move in game.position.legal_moves():
        after = game.position.push(move)
        state = (
            np.int64(x) for x in (after.own, after.opp, after.kings, -1, after.halfmove_clock, depth - 1)
        )
        # The window is one below the best, so that ties are exact.
        value = -int(alpha_beta(*state, np.int64(-UNBOUNDED), np.int64(-best + 1), VALUES))
        values[move] = value
        best = max(best, value)
    return values
