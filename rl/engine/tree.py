"""`TreeEngine`: tree search of positions with a network, or without one, within limits."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import MAX_COUNT, Limit
from ckai.rl.engine.reading import Tree
from ckai.rl.engine.result import SearchResult, StopReason
from ckai.rl.engine.task import Task
from ckai.rl.engine.text import DEFAULT_VISITS
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.contract import NONE
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.batch_sizing import BatchSizer
from ckai.rl.search.inline_search import make_searcher, measured_batch_sizer
from ckai.rl.search.move_time import MoveTimer
from ckai.rl.search.searcher import MAX_STEP_SIMULATIONS
from ckai.rl.search.selection import SearchConstants

LEAVES = 256
"""Most positions in one call of the network."""
VISITS_PER_LEAF = 48
"""Root visits that allow one more position in a call, unless time alone ends the search: see `BatchSizer`."""
BATCHES, THREADS = 3, 2
"""Calls of the network in flight under a visit limit, and how many of them run at the same time."""
REUSE_SECONDS = 0.6e-6
"""Most seconds that a search needs per position of the tree that it takes over."""


class TreeEngine(Engine):
    """Searches positions with PUCT and an evaluator: a network, playouts, or none.

    The next search of the same game keeps the subtree of its position.

    Example:
        >>> with Engine.load("uniform") as engine:
        ...     result = engine.search("W:WK18,K15:BK4", sims=2000)
        >>> str(result.move), result.proven, result.plies, result.reason
        ('15-11', 'win', 3, <StopReason.PROVEN: 'proven'>)
        >>> [str(move) for move in result.pv]
        ['15-11', '4-8', '11x4']
        >>> result.value, result.value.black()
        (1.0, -1.0)
    """

    takes = frozenset(("visits", "seconds", "clock", "depth", "nodes"))
    endless = True
    default_limit = Limit(visits=DEFAULT_VISITS)
    evaluator: Evaluator

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        seed: int | None = None,
        constants: SearchConstants | None = None,
        nodes: int | None = None,
        leaves: int = LEAVES,
        batches: int = BATCHES,
        threads: int = THREADS,
        spec: GameSpec = DEFAULT_GAME,
        tables: Tables | None = None,
        name: str | None = None,
    ) -> None:
        """Create an engine; compiles what searches need unless the cache has it, with a line that says so.

        Args:
            evaluator: evaluates positions; `close` leaves it open, unless `owns_evaluator` is set.
            seed: seed of the playouts, and of the noise at the root if `constants` have any; None: 0.
            constants: constants of the search; None: those that suit the evaluator.
            nodes: positions in the tree at which a search ends; None: what a quarter of the memory holds.
            leaves: most positions in one call of the evaluator; a small tree sends fewer.
            batches: calls of the evaluator in flight, of which `threads` run at the same time. Results depend
                on this number, not on timing. With a time limit each thread has one, and results vary.
            threads: see `batches`.
            spec: the game.
            tables: tablebases. The search proves every position in them, and plays the shortest win or
                the longest loss there. None: none.
            name: see `Engine`; None: the evaluator's.
        """
        super().__init__(seed=seed or 0)
        self.evaluator, self.tables, self.spec = evaluator, tables, spec
        self.name = name or evaluator.name
        self.owns_evaluator = False
        if constants is None and spec.search_defaults and not isinstance(evaluator, RolloutEvaluator):
            constants = SearchConstants(**spec.search_defaults)
        self._settings: dict[str, Any] = {"constants": constants, "game": spec.make_rules(tables)}
        batching: dict[str, Any] = {
            "leaves": leaves,
            "visits_per_leaf": VISITS_PER_LEAF,
            "batches": batches,
            "threads": threads,
        }
        searcher = make_searcher(evaluator, nodes=nodes, seed=seed or 0, **batching, **self._settings)
        self._tree = Tree(searcher, tables)
        self._batch_sizer: BatchSizer | None = None
        self._many: list[Tree] = []
        """The trees of `play_many`, the one to be used next first."""

    def _copy(self) -> "TreeEngine":
        by_visits = self.limit is not None and self.limit.given == {"visits"}
        copy = TreeEngine(
            self.evaluator,
            constants=self._settings["constants"],
            nodes=1024 if by_visits else None,  # the games of `play_many` have trees of their own
            batches=1,
            threads=1,
            spec=self.spec,
            tables=self.tables,
        )
        copy._batch_sizer = self._batch_sizer
        return copy

    def measure(self) -> None:
        """Measure the evaluator now, so that no search by time has to."""
        self._batch_sizer = measured_batch_sizer(self.evaluator, self._settings["game"])

    def _forget(self, game: Any = None) -> None:
        for tree in self._many:
            if game is None or (tree.root is not None and tree.root.game is game):
                tree.root = None
        if game is None:
            self._tree.root = None

    def _drop_many(self) -> None:
        if self._many:
            self._many[0].searcher.close()
            self._many = []

    def _spoiled(self) -> None:
        # Trees have leaves that were not evaluated: the next search starts from empty ones.
        self._tree.searcher.discard()
        self._tree.root = None
        self._drop_many()

    def _release(self) -> None:
        self._drop_many()
        self._tree.searcher.close()
        del self._tree  # it may be a hundred megabytes
        if self.owns_evaluator:
            self.evaluator.close()

    # --- many games ---------------------------------------------------------------------------------

    def _search_many(self, tasks: Sequence[Task]) -> list[SearchResult]:
        """Search by visits in a tree for each game, evaluating their positions together."""
        visits = tasks[0].limit.visits
        if visits is None or tasks[0].limit.given != {"visits"}:
            return super()._search_many(tasks)
        trees = self._trees_for(tasks, visits)
        searcher, stop = trees[0].searcher, tasks[0].stop
        targets = np.zeros(len(self._many), np.int32)
        for tree, task in zip(trees, tasks, strict=True):
            tree.set_root(task.root)
            targets[tree.t] = 1 if len(task.root.position.legal_moves()) == 1 else visits
            if task.seed is not None:
                searcher.tree_batch.info["rng"][tree.t] = np.uint64(task.seed)
        with one_torch_thread():
            while searcher.step(targets) and not stop.is_set():
                pass
            if stop.is_set():
                searcher.flush()
                searcher.run(np.minimum(targets, 2))  # every game has a move
        reason = StopReason.STOPPED if stop.is_set() else StopReason.VISITS
        return [tree.result(task.lines, reason) for tree, task in zip(trees, tasks, strict=True)]

    def _trees_for(self, tasks: Sequence[Task], visits: int) -> list[Tree]:
        """Return a tree for each game, the one that has its last position if there is one."""
        nodes = visits + 3
        if len(self._many) < len(tasks) or self._many[0].searcher.tree_batch.nodes.shape[1] != nodes:
            self._drop_many()
            size = max(len(tasks), self.boards)
            searcher = make_searcher(self.evaluator, trees=size, nodes=nodes, **self._settings)
            self._many = [Tree(searcher, self.tables, t) for t in range(size)]
        known = {id(tree.root.game): tree for tree in self._many if tree.root is not None}
        mine = [None if task.root.game is None else known.get(id(task.root.game)) for task in tasks]
        taken = {tree.t for tree in mine if tree is not None}
        free = [tree for tree in self._many if tree.t not in taken]
        free.sort(
            key=lambda tree: tree.root is not None
        )  # then those that were not used for the longest time
        others = iter(free)
        trees = []
        for tree in mine:
            if tree is None:
                tree = next(others)
                tree.root = None
            trees.append(tree)
        self._many = [*others, *dict.fromkeys(trees)]
        return trees

    # --- one game -----------------------------------------------------------------------------------

    def _search(self, task: Task) -> SearchResult:
        tree, limit, searcher = self._tree, task.limit, self._tree.searcher
        if task.seed is not None:
            searcher.tree_batch.info["rng"][0] = np.uint64(task.seed)
        if limit.by_time and self._batch_sizer is None:
            self.measure()
        searcher.batch_sizer = self._batch_sizer if limit.by_time else None
        begun, plies = time.perf_counter(), len(task.root.history)
        times = limit.move_time(plies)
        moved = tree.root is not None and tree.root.position != task.root.position
        too_large = times is not None and tree.nodes * REUSE_SECONDS > times.maximum / 2
        tree.set_root(task.root, keep=not (moved and too_large))
        kept, evaluated = tree.nodes if tree.ready else 0, searcher.evaluations
        timer, margin = None, searcher.time_margin
        if limit.clock is not None and (times := limit.move_time(plies, margin)) is not None:
            timer = MoveTimer(times, begun, tree.visits)

        def reached() -> StopReason | None:
            now = time.perf_counter()
            if task.stop.is_set():
                return StopReason.STOPPED
            if limit.seconds is not None and now - begun >= limit.seconds:
                return StopReason.SECONDS
            if timer is not None and timer.ended(now, tree.visits, tree.lead):
                return StopReason.CLOCK if now - begun >= timer.time.optimum else StopReason.DECIDED
            if limit.depth is not None and tree.depth() >= limit.depth:
                return StopReason.DEPTH
            return StopReason.NODES if limit.nodes is not None and tree.nodes - kept >= limit.nodes else None

        def step() -> StopReason | None:
            """Search one more batch; return why nothing is left to search, if so."""
            before = tree.visits
            most = target = MAX_COUNT if limit.visits is None else int(limit.visits)
            if limit.nodes is not None:  # a visit adds one position at most
                target = min(most, before + searcher.in_flight + limit.nodes - (tree.nodes - kept))
            elif limit.visits is None or limit.by_time:
                target = min(most, before + searcher.in_flight + MAX_STEP_SIMULATIONS)
            if searcher.step(np.array([target], np.int32)):
                return None
            if searcher.root(0)["proof"] != NONE:
                return StopReason.PROVEN
            if tree.visits >= most:
                return StopReason.VISITS
            return StopReason.FULL if tree.visits == before < target else None

        def result(reason: StopReason | None) -> SearchResult:
            seconds, evaluations = time.perf_counter() - begun, searcher.evaluations - evaluated
            added = tree.nodes - kept
            return tree.result(task.lines, reason, seconds=seconds, nodes=added, evaluations=evaluations)

        told = 0
        with one_torch_thread():
            searcher.step(np.ones(1, np.int32))  # the root is evaluated under any limit
            reason = reached()
            while reason is None:
                reason = step() or reached()
                if reason is None and tree.ready and tree.visits > told and task.due:
                    told = tree.visits
                    task.tell(result(None))
            searcher.flush()
            return result(reason)


def by_visits(evaluator: Evaluator, visits: int, **settings: Any) -> TreeEngine:
    """Return an engine of some visits per move, for matches.

    Args:
        evaluator: see `TreeEngine`, as `settings`.
        visits: visits at the root.
    """
    engine = TreeEngine(evaluator, **({"nodes": visits + 3} | settings))
    engine.limit = Limit(visits=visits)
    return engine
