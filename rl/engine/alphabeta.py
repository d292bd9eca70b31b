"""`AlphaBetaEngine`: alpha-beta search with an integer network."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ckai.datasets.tables import Tables
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.search import AlphaBetaResult, AlphaBetaSearch
from ckai.rl.engine.base import Engine, Task
from ckai.rl.engine.limit import OVERHEAD, Limit
from ckai.rl.engine.result import REVERSED, Line, SearchResult, StopReason, Value
from ckai.rl.engine.text import DEFAULT_SECONDS
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

DEEP = 8
"""Plies up to which every move is searched for several lines; beyond, those that are among the best."""
SPARE = 2
"""Moves searched beyond those lines, so that a better one is noticed."""
MAX_DEPTH = 99
"""Of several lines."""


class AlphaBetaEngine(Engine):
    """Alpha-beta search with an integer network; its table is kept from one search to the next.

    It looks for the best move alone, so several lines are searched one by one, depth by depth.

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
        lines = min(task.lines, len(task.game.position.legal_moves()))
        return self._search_best(task) if lines <= 1 else self._search_lines(task, lines)

    def _search_lines(self, task: Task, lines: int) -> SearchResult:
        begun, nodes, limit = time.perf_counter(), 0, task.limit
        times, moves = limit.move_time(len(task.game.history), OVERHEAD), task.game.position.legal_moves()
        found: dict[Any, Line] = {}

        def by_value(move: Any) -> float:
            return -float(found[move].value or 0.0) if move in found else -1.0

        def ended() -> StopReason | None:
            if task.stop.is_set():
                return StopReason.STOPPED
            if times is not None and time.perf_counter() - begun >= times.maximum:
                return StopReason.SECONDS if limit.clock is None else StopReason.CLOCK
            return StopReason.NODES if limit.nodes is not None and nodes >= limit.nodes else None

        def at(depth: int) -> SearchResult:
            return self._search_best(replace(task, limit=Limit(depth=max(1, depth)), publish=None))

        best = result = at(1)
        for depth in range(1, MAX_DEPTH):
            done, nodes = {best.move: best.lines[0]}, nodes + best.nodes
            others = sorted((move for move in moves if move != best.move), key=by_value)
            for move in others if depth <= DEEP else others[: lines + SPARE - 1]:
                if depth > 1 and (reason := ended()):
                    return replace(result, reason=reason)
                turn = Value.at(task.game.position, 0.0).turn
                task.game.push(move)
                try:
                    if (outcome := task.game.outcome()) is not None:
                        won = outcome.winner == turn
                        value = Value(0.0 if outcome.winner is None else 1.0 if won else -1.0, turn)
                        proof: Any = {"proven": "win" if won else "draw", "plies": int(won) or None}
                        done[move] = Line(pv=[move], value=value, **proof)
                        continue
                    after = at(depth - 1)
                finally:
                    task.game.pop()
                nodes += after.nodes
                done[move] = Line(
                    pv=[move, *after.pv],
                    value=Value(-float(after.value or 0.0), turn),
                    proven=None if after.proven is None else REVERSED[after.proven],
                    plies=None if after.plies is None else after.plies + 1,
                )
            if depth > 1 and task.stop.is_set():
                return replace(result, reason=StopReason.STOPPED)
            found |= done
            shown = [found[best.move], *(found[move] for move in sorted(others, key=by_value)[: lines - 1])]
            seconds = time.perf_counter() - begun
            result = replace(best, lines=shown, seconds=seconds, nodes=nodes, reason=None)
            task.tell(partial(replace, result))
            if reason := StopReason.PROVEN if best.proven else ended():
                return replace(result, reason=reason)
            if depth == limit.depth:
                break
            best = at(depth + 1)
        return replace(result, reason=StopReason.DEPTH)

    def _search_best(self, task: Task) -> SearchResult:
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
