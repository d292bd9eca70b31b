"""`TreeEngine`: tree search of positions with a network, or without one, within limits."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.engine.analysis import Publish
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import Line, SearchResult, StopReason, Value
from ckai.rl.engine.root import Root, forget_draw, set_root
from ckai.rl.engine.stop import Stop
from ckai.rl.engine.task import SearchRun, Task
from ckai.rl.engine.tree_reader import TreeReader, evaluate_policy, turn_of
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import NEW
from ckai.rl.search.batch_sizing import BatchSizer
from ckai.rl.search.inline_search import make_searcher, measured_batch_sizer
from ckai.rl.search.searcher import Searcher
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
        self._searcher = make_searcher(
            evaluator,
            nodes=nodes,
            leaves=leaves,
            visits_per_leaf=VISITS_PER_LEAF,
            batches=batches,
            threads=threads,
            seed=seed or 0,
            **self._settings,
        )
        self._batch_sizer: BatchSizer | None = None
        self._reader = TreeReader(self._searcher, tables, partial(evaluate_policy, evaluator))
        self._root: Root | None = None
        """Root of the last search; None if its tree cannot be used again."""
        self._boards: _Boards | None = None
        """The games of `play_many`."""

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

    def play_many(
        self, games: Sequence[Any], limit: Limit | None = None, *, seeds: Sequence[int] | None = None
    ) -> list[SearchResult]:
        """See `Engine`. By visits, each hop of a capture of several is searched with as many."""
        limit = self._limit(limit)
        if limit.given != {"visits"}:
            return super().play_many(games, limit, seeds=seeds)
        if not games:
            return []
        task = self._begin(games[0], limit, (), 1)
        return self._guarded(task, lambda: self._play_boards(games, int(limit.visits or 1), seeds, task.stop))

    def _play_boards(
        self, games: Sequence[Any], visits: int, seeds: Sequence[int] | None, stop: Stop
    ) -> list[SearchResult]:
        boards = self._boards
        if boards is None or boards.size < len(games) or boards.visits != visits:
            self._drop_boards()
            trees = max(len(games), self.boards)
            searcher = make_searcher(self.evaluator, trees=trees, nodes=visits + 3, **self._settings)
            boards = self._boards = _Boards(searcher, self.spec, visits)
        return boards.play(games, seeds, stop)

    def _drop_boards(self) -> None:
        if self._boards is not None:
            self._boards.searcher.close()
            self._boards = None

    def new_game(self, game: Any = None) -> None:
        """See `Engine`."""
        if game is None:
            super().new_game()
        elif self._boards is not None:
            self._boards.drop(game)

    def measure(self) -> None:
        """Measure the evaluator now, so that no search by time has to."""
        self._batch_sizer = measured_batch_sizer(self.evaluator, self._searcher.game)

    # --- see `Engine` ----------------------------------------------------------------------------

    def _forget(self) -> None:
        self._root = None
        self._drop_boards()

    def _release(self) -> None:
        self._drop_boards()
        self._searcher.close()
        del self._searcher, self._reader  # the tree may be a hundred megabytes
        if self.owns_evaluator:
            self.evaluator.close()

    def _spoiled(self) -> None:
        # Trees have leaves that were not evaluated: the next search starts from empty ones.
        self._searcher.discard()
        self._forget()

    def _takes_too_long_to_keep(self, task: Task) -> bool:
        """Return whether taking over the part of the tree below a move could use up the time of this one."""
        times = task.limit.move_time(len(task.root.history))
        if times is None or self._root is None or self._root.position == task.root.position:
            return False
        return self._reader.nodes * REUSE_SECONDS > times.maximum / 2

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        searcher, reader, limit = self._searcher, self._reader, task.limit
        if not task.reuse:
            self._root = None
        if task.seed is not None:
            searcher.tree_batch.info["rng"][0] = np.uint64(task.seed)
        if limit.by_time and self._batch_sizer is None:
            self.measure()
        searcher.batch_sizer = self._batch_sizer if limit.by_time else None
        begun = time.perf_counter()
        if self._takes_too_long_to_keep(task):
            self._root = None
        set_root(searcher, task.root, self._root)
        self._root = task.root
        reader.root_changed()
        kept = 0 if searcher.root(0)["status"] == NEW else reader.nodes
        search = SearchRun(task, searcher, reader, kept=kept, begun=begun)
        earlier_evaluations = searcher.evaluations
        published_at, published_visits = -interval, 0

        def result(reason: StopReason | None) -> SearchResult:
            return reader.result(
                task.root.position,
                task.lines,
                seconds=search.seconds,
                nodes=search.added,
                evaluations=searcher.evaluations - earlier_evaluations,
                reason=reason,
            )

        with one_torch_thread():
            searcher.step(np.ones(1, np.int32))  # the root is evaluated under any limit
            reason = search.reached()
            while reason is None:
                reason = search.step() or search.reached()
                if publish is not None and reader.ready and reason is None:
                    visits = int(searcher.root(0)["visits"])
                    if search.seconds - published_at >= interval and visits > published_visits:
                        publish(result(None))
                        published_at, published_visits = search.seconds, visits
            searcher.flush()
            return result(reason)


def by_visits(evaluator: Evaluator, visits: int, **settings: Any) -> TreeEngine:
    """Return an engine of some visits per hop, for matches.

    Args:
        evaluator: see `TreeEngine`, as `settings`.
        visits: visits at the root.
    """
    engine = TreeEngine(evaluator, **({"nodes": visits + 3} | settings))
    engine.limit = Limit(visits=visits)
    return engine


class _Boards:
    """Games that are searched together by visits, each in a tree that it keeps from move to move."""

    def __init__(self, searcher: Searcher, spec: GameSpec, visits: int) -> None:
        self.searcher, self.spec, self.visits = searcher, spec, visits
        self.size = len(searcher.tree_batch.nodes)
        self._games: list[Any] = [None] * self.size
        self._moves, self._calls = [0] * self.size, [0] * self.size
        """Moves of each game that its tree has seen, and the number of the call that had it last."""
        self._hops: list[list[int]] = [[] for _ in self._games]
        """Hops of the next move that its tree has seen."""

    def drop(self, game: Any) -> None:
        """Free the tree of a game that is over."""
        self._games = [None if each is game else each for each in self._games]

    def play(self, games: Sequence[Any], seeds: Sequence[int] | None, stop: Stop) -> list[SearchResult]:
        """Return the move of each game; each has a legal move."""
        call = max(self._calls) + 1
        trees = [self._tree_of(game, call) for game in games]
        searcher, results = self.searcher, dict[int, SearchResult]()
        if seeds is not None:
            searcher.tree_batch.info["rng"][trees] = np.array(seeds, np.uint64)
        while missing := [(t, game) for t, game in zip(trees, games, strict=True) if t not in results]:
            visits = np.zeros(self.size, np.int32)
            for t, _ in missing:
                visits[t] = 1 if int(searcher.root(t)["num_edges"]) == 1 else self.visits
            with one_torch_thread():
                while searcher.step(visits) and not stop.is_set():
                    pass
                if stop.is_set():
                    searcher.flush()
                    searcher.run(np.minimum(visits, 2))  # every game has a move
            for t, game in missing:
                root, action = searcher.root(t), searcher.best(t)
                move = game.position.move_of([*self._hops[t], action])
                if move is None:  # the capture has more hops
                    searcher.play(t, action)
                    self._hops[t].append(action)
                    continue
                value = Value(float(root["value_sum"]) / max(1, int(root["visits"])), turn_of(game.position))
                line = Line(pv=[move], value=value)
                reason = StopReason.STOPPED if stop.is_set() else StopReason.VISITS
                results[t] = SearchResult(lines=[line], value=value, sims=int(root["visits"]), reason=reason)
        return [results[t] for t in trees]

    def _tree_of(self, game: Any, call: int) -> int:
        """Return the tree of a game, brought to its position."""
        t = next((t for t, each in enumerate(self._games) if each is game), None)
        if t is None:
            t = min(range(self.size), key=lambda t: (self._games[t] is not None, self._calls[t]))
            self._games[t], self._moves[t], actions = game, -1, list[int]()
        else:
            actions = [action for move in game.moves[self._moves[t] :] for action in move.actions]
        seen = self._hops[t]
        if 0 <= self._moves[t] <= len(game.moves) and actions[: len(seen)] == seen:
            for action in actions[len(seen) :]:
                self.searcher.play(t, action)
        else:
            root = Root.read(game, spec=self.spec)
            root.set_in(self.searcher, t)
            forget_draw(self.searcher, t, root)
        self._moves[t], self._hops[t], self._calls[t] = len(game.moves), [], call
        return t
