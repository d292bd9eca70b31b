"""`AlphaBetaEngine`: alpha-beta search with an integer network."""

import time

from ckai.datasets.tables import Tables
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.moves import whole_moves
from ckai.rl.alphabeta.search import AlphaBetaResult, AlphaBetaSearch
from ckai.rl.engine.analysis import Publish
from ckai.rl.engine.base import AnyEngine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Line, Proof, SearchResult, StopReason, Value
from ckai.rl.engine.root import Root
from ckai.rl.engine.task import Task
from ckai.rl.engine.tree_reader import turn_of
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


class AlphaBetaEngine(AnyEngine):
    """Alpha-beta search; its table is kept from one search to the next."""

    def __init__(
        self,
        evaluator: IntegerEvaluator,
        *,
        tables: Tables | None = None,
        spec: GameSpec = DEFAULT_GAME,
        limit: Limit | None = None,
        fixed: bool = False,
        threads: int = 1,
        seed: int | None = None,
    ) -> None:
        """Allocate the table.

        Args:
            evaluator: the network.
            tables: probed in the search.
            spec: the game.
            limit, fixed: see `AnyEngine`.
            threads: threads of a search by time.
            seed: see `AlphaBetaSearch`.
        """
        super().__init__()
        self.spec, self.limit, self.fixed = spec, limit, fixed
        self._alpha_beta = AlphaBetaSearch(
            evaluator, game=spec.make_rules(tables), threads=threads, seed=seed
        )

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        begun = time.perf_counter()
        limit = self.limit if self.fixed and self.limit is not None else task.limit
        times, depth = limit.move_time(len(task.root.history)), limit.depth
        root, search, state = task.root.undrawn(), self._alpha_beta, self.spec.state
        if limit.clock is not None and len(root.position.legal_moves()) == 1:
            depth = 1

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
            # An analysis to a number of visits has as many positions.
            nodes=limit.visits if limit.nodes is None else limit.nodes,
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

    def _release(self) -> None:
        pass


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
