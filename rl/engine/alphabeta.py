"""`AlphaBetaEngine`: alpha-beta search with an integer network."""

import time
from collections.abc import Sequence
from typing import Any

from ckai.datasets.tables import Tables
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.search import AlphaBetaResult, AlphaBetaSearch
from ckai.rl.engine.base import Engine, Task
from ckai.rl.engine.limit import OVERHEAD, Limit
from ckai.rl.engine.result import Line, SearchResult, StopReason, Value
from ckai.rl.engine.text import DEFAULT_SECONDS
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


class AlphaBetaEngine(Engine):
    """Alpha-beta search with an integer network; its table is kept from one search to the next.

    Args:
        threads: of a search by time; a twin has one.
        seed: varies the order of moves that are about as good, see `AlphaBetaSearch`; None: it never varies.
    """

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
    ) -> None:
        super().__init__(seed=seed)
        self.evaluator, self.spec, self.name = evaluator, spec, f"alphabeta:{evaluator.name}"
        self._settings: dict[str, Any] = {"game": spec.make_rules(tables), "threads": threads, "seed": seed}
        self._open()

    def _open(self, of: Any = None) -> None:
        alone = {"threads": 1, "seed": None} if of else {}
        self._alpha_beta = AlphaBetaSearch(self.evaluator, **self._settings | alone)
        first = self.spec.state(self.spec.position())
        self._alpha_beta.search(first, [first], depth=1)  # compiles what no limit of time should pay for
        self._alpha_beta.forget()

    def _search(self, task: Task) -> SearchResult:
        begun, search, state, limit = time.perf_counter(), self._alpha_beta, self.spec.state, task.limit
        game, stop, clocked = task.game, task.stop, limit.clock is not None
        times, depth = limit.move_time(len(game.history), OVERHEAD), limit.depth
        if clocked and len(game.position.legal_moves()) == 1:
            depth = 1
        if task.seed is not None:
            search.reseed(task.seed)

        def result(found: AlphaBetaResult, reason: StopReason | None = None) -> SearchResult:
            same: dict[str, Any] = {n: getattr(found, n) for n in ("nodes", "evaluations", "depth", "plies")}
            same["proven"] = None if found.plies is None else "win" if found.value > 0 else "loss"
            value, pv = Value.at(game.position, found.value), whole_moves(game.position, found.pv)
            seconds = time.perf_counter() - begun
            return SearchResult(lines=[Line(pv=pv)], value=value, seconds=seconds, reason=reason, **same)

        def on_depth(found: AlphaBetaResult) -> None:
            if stop.is_set():  # maybe before the search had begun
                search.stop()
            task.tell(lambda: result(found))

        stop.attach(search.stop)
        here, *earlier = (state(position) for position in (game.position, *game.history))
        ends: dict[str, Any] = {"depth": depth, "nodes": limit.nodes, "seconds": times and times.maximum}
        ends["soft_seconds"] = times.optimum if times is not None and clocked else None
        found = search.search(here, earlier, on_depth=on_depth, **ends)
        if stop.is_set():
            reason = StopReason.STOPPED
        elif found.plies is not None:
            reason = StopReason.PROVEN
        elif clocked:
            reason = StopReason.CLOCK
        elif times is not None and time.perf_counter() - begun >= times.maximum:
            reason = StopReason.SECONDS
        else:
            reason = StopReason.NODES if depth is None else StopReason.DEPTH
        return result(found, reason)

    def _forget(self, game: Any = None) -> None:
        if game is None:
            self._alpha_beta.forget()


def whole_moves(position: Any, actions: Sequence[int]) -> list[Any]:
    """Return the moves that a line of hops makes from a position, one or more.

    A last capture that is incomplete is left out, but for the first move of the line, which then is the first
    legal move that begins with these hops.
    """
    moves, hops = list[Any](), list[int]()
    for action in actions:
        hops.append(action)
        if (move := position.move_of(hops)) is not None:
            moves.append(move)
            position, hops = position.push(move), []
    return moves or [next(m for m in position.legal_moves() if list(m.actions[: len(hops)]) == hops)]
