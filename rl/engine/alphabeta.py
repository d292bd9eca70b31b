"""`AlphaBetaEngine`: alpha-beta search with an integer network."""

import time
from typing import Any

from ckai.datasets.tables import Tables
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.moves import whole_moves
from ckai.rl.alphabeta.search import AlphaBetaResult, AlphaBetaSearch
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Line, Proof, SearchResult, StopReason, Value, turn_of
from ckai.rl.engine.task import Root, Task
from ckai.rl.engine.text import DEFAULT_SECONDS
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


class AlphaBetaEngine(Engine):
    """Alpha-beta search with an integer network; its table is kept from one search to the next.

    Args:
        evaluator: the network.
        tables: probed in the search.
        spec: the game.
        threads: threads of a search by time.
        seed: varies the order of moves that are about as good, see `AlphaBetaSearch`; None: it never varies.
    """

    takes = frozenset(("seconds", "clock", "depth", "nodes"))
    endless = True
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
    ) -> None:
        super().__init__(seed=seed)
        self.evaluator, self.tables, self.spec = evaluator, tables, spec
        self.name = f"alphabeta:{evaluator.name}"
        rules = spec.make_rules(tables)
        self._alpha_beta = AlphaBetaSearch(evaluator, game=rules, threads=threads, seed=seed)
        first = spec.state(spec.position())
        self._alpha_beta.search(first, [first], depth=1)  # compiles what no limit of time should pay for
        self._alpha_beta.forget()

    def _copy(self) -> "AlphaBetaEngine":
        return AlphaBetaEngine(self.evaluator, tables=self.tables, spec=self.spec)

    def _search(self, task: Task) -> SearchResult:
        begun, search, state, limit = time.perf_counter(), self._alpha_beta, self.spec.state, task.limit
        root, stop = task.root.undrawn(), task.stop
        times, depth = limit.move_time(len(task.root.history)), limit.depth
        if limit.clock is not None and len(root.position.legal_moves()) == 1:
            depth = 1
        if task.seed is not None:
            search.reseed(task.seed)

        def on_depth(found: AlphaBetaResult) -> None:
            if stop.is_set():  # maybe before the search had begun
                search.stop()
            task.tell(lambda: _result(found, root, time.perf_counter() - begun))

        stop.attach(search.stop)
        found = search.search(
            state(root.position),
            [state(earlier) for earlier in root.history],
            seconds=None if times is None else times.maximum,
            soft_seconds=None if times is None or limit.clock is None else times.optimum,
            nodes=limit.nodes,
            depth=depth,
            on_depth=on_depth,
        )
        seconds, clocked = time.perf_counter() - begun, limit.clock is not None
        if stop.is_set():
            reason = StopReason.STOPPED
        elif found.plies is not None:
            reason = StopReason.PROVEN
        elif times is not None and seconds >= times.maximum:
            reason = StopReason.CLOCK if clocked else StopReason.SECONDS
        elif clocked:
            reason = StopReason.DECIDED
        else:
            reason = StopReason.NODES if depth is None else StopReason.DEPTH
        return _result(found, root, seconds, reason)

    def _forget(self, game: Any = None) -> None:
        if game is None:
            self._alpha_beta.forget()


def _result(
    found: AlphaBetaResult, root: Root, seconds: float, reason: StopReason | None = None
) -> SearchResult:
    proven: Proof | None = None if found.plies is None else "win" if found.value > 0 else "loss"
    value, pv = Value(found.value, turn_of(root.position)), whole_moves(root.position, found.pv)
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
