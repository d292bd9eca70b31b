"""`Engine`: searches positions of checkers with a network, within limits."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game import Position
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.models.pretrained import CKAI
from ckai.rl.engine.analysis import Analysis, Publish
from ckai.rl.engine.limit import DEFAULT_VISITS, MAX_COUNT, EngineError, Limit
from ckai.rl.engine.policy import evaluate_policy
from ckai.rl.engine.reading import TreeReader
from ckai.rl.engine.result import Policy, SearchResult, StopReason
from ckai.rl.engine.root import Root, legal_moves, read_position
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import NEW, TERMINAL
from ckai.rl.search.factory import make_searcher, measured_pacing
from ckai.rl.search.pacing import Pacing
from ckai.rl.search.selection import SearchConstants

LEAVES = 256
"""Most positions in one call of the network."""
GROWTH = 32
"""Root visits that allow one more position in a call, unless time alone ends the search: see `Pacing`."""
BATCHES = 2
"""Calls of the network at the same time."""
INTERVAL = 0.1
"""Seconds between two results of an analysis."""


@dataclass
class _Task:
    """The search in progress."""

    root: Root
    limit: Limit
    multipv: int
    stop: threading.Event = field(default_factory=threading.Event)


class Engine:
    """Searches positions with PUCT and an evaluator.

    An engine runs one search at a time. `stop` and `close` may be called from any thread, other methods only
    while no search is in progress. The next search of the same game keeps the subtree of its position.

    Example:
        >>> with Engine.load("uniform") as engine:
        ...     result = engine.search("W:WK18,K15:BK4", Limit(visits=2000))
        >>> str(result.move), result.proven, result.plies, result.reason
        ('15-11', 'win', 3, <StopReason.PROVEN: 'proven'>)
        >>> [str(move) for move in result.pv]
        ['15-11', '4-8', '11x4']
        >>> result.value, result.value.black()
        (1.0, -1.0)
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        seed: int | None = None,
        constants: SearchConstants | None = None,
        nodes: int = 1_000_000,
        leaves: int = LEAVES,
        batches: int = BATCHES,
        game: Checkers | None = None,
        tables: Tables | None = None,
    ) -> None:
        """Create an engine; compiles what searches need unless the cache has it, with a line that says so.

        Args:
            evaluator: evaluates positions; `close` leaves it open.
            seed: seed of the noise at the root, if `constants` have any; None: 0.
            constants: constants of the search; None: those that suit the evaluator.
            nodes: capacity of the tree in positions; a search ends when the tree is full.
            leaves: most positions in one call of the evaluator; a small tree sends fewer.
            batches: calls of the evaluator at the same time, each in a thread of its own. Results depend on
                this number, but not on the timing of the threads.
            game: the draw rules; None: the usual ones.
            tables: endgame tables. The search proves every position in them, and plays the shortest win or
                the longest loss there. None: none.
        """
        self.evaluator = evaluator
        self.tables = tables
        self._owns_evaluator = False
        self._searcher = make_searcher(
            evaluator,
            nodes=nodes,
            leaves=leaves,
            growth=GROWTH,
            batches=batches,
            constants=constants,
            game=(game or Checkers()).with_tables(tables),
            seed=0 if seed is None else seed,
        )
        self._pacing: Pacing | None = None
        self._policy = partial(evaluate_policy, evaluator)
        self._reader = TreeReader(self._searcher, tables, self._policy)
        self._root: Root | None = None
        """Root of the last search; None if its tree cannot be used again."""
        self._changed = threading.Condition()
        self._task: _Task | None = None
        self._closed = False

    @classmethod
    def load(
        cls,
        source: str | Path = CKAI,
        *,
        evaluator: str = "auto",
        tables: Tables | int | None = None,
        seed: int | None = None,
        tell: Callable[[Any], None] | None = None,
        **settings: Any,
    ) -> "Engine":
        """Create an engine from a checkpoint.

        Args:
            source: a checkpoint file; or `ckai`, the network installed with ckai; or `uniform`, a search
                without a network; or `rollout`, a search with random playouts.
            evaluator: the backend of the network, see `load_evaluator`: `auto`, the best one of this machine.
            tables: endgame tables, or their number of pieces (see `Tables.open`); None: none.
            seed: see `Engine`.
            tell: called with the report of a trial of backends.
            **settings: other arguments of `Engine`.

        Raises:
            CheckpointError: the file is not a checkpoint for checkers.
            TableError: there are no such tables.
            ValueError: there is no such backend, or it is not available on this machine.
        """
        if isinstance(tables, int):
            tables = Tables.open(tables)
        batches = int(settings.get("batches", BATCHES))
        loaded = load_evaluator(source, evaluator, threads=batches, tell=tell)
        engine = cls(loaded, seed=seed, tables=tables, **settings)
        engine._owns_evaluator = True
        engine._pacing = measured_pacing(loaded, engine._searcher.game)
        return engine

    def __repr__(self) -> str:
        tables = "" if self.tables is None else f", tables of {self.tables.pieces} pieces"
        return f"<Engine {self.evaluator.name}{tables}{', closed' if self._closed else ''}>"

    # --- closing and stopping -----------------------------------------------------------------------

    def __enter__(self) -> Self:
        with self._changed:
            self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the search in progress, and free the tree, the threads and an evaluator made by `load`.

        Afterwards everything but `close`, `stop` and `repr` raises `EngineError`. Closing again does nothing.
        """
        with self._changed:
            if self._closed:
                return
            self._closed = True
            if self._task is not None:
                self._task.stop.set()
            self._changed.wait_for(lambda: self._task is None)
            self._searcher.close()
            del self._searcher, self._reader  # the tree may be a hundred megabytes
        if self._owns_evaluator:
            self.evaluator.close()

    def stop(self) -> None:
        """End the search in progress soon; it returns its result so far. Does nothing if there is none.

        May be called from any thread.
        """
        with self._changed:
            if self._task is not None:
                self._task.stop.set()

    def forget(self) -> None:
        """Drop the tree, so that the next search starts from an empty one.

        Raises:
            EngineError: the engine is closed, or searching.
        """
        with self._changed:
            self._check_idle()
            self._root = None

    # --- policy, search, analysis -------------------------------------------------------------------

    def policy(self, position: Position | str) -> Policy:
        """Evaluate a position with the network alone, without a search.

        Args:
            position: a `Position` or a FEN.

        Returns:
            The probability of every legal move (of a capture of several hops, the product over the hops) and
            the value for the side to move.

        Raises:
            ValueError: the side to move has no legal move.
            PositionError: the FEN cannot be read.
            EngineError: the engine is closed.

        Example:
            >>> with Engine.load("uniform") as engine:
            ...     engine.policy("B:W32:B1").moves
            MoveMap({'1-5': 0.5, '1-6': 0.5})
        """
        with self._changed:
            self._check_open()
        here = read_position(position)
        legal_moves(here)
        return self._policy(here)

    def search(
        self,
        position: Position | str,
        limit: Limit | None = None,
        *,
        sims: int | None = None,
        seconds: float | None = None,
        history: Sequence[Position | str] = (),
        multipv: int = 1,
    ) -> SearchResult:
        """Search a position.

        Args:
            position: a `Position` or a FEN. If it is at most two moves after the last one searched, its
                subtree is kept.
            limit: when the search ends; by default after 400 visits.
            sims, seconds: short for `Limit(visits=sims, seconds=seconds)`, instead of `limit`.
            history: earlier positions of the game, oldest first, for repetitions. They also set the halfmove
                clock of a FEN, which has none.
            multipv: number of lines in the result, 1 or more; the search does not depend on it.

        Returns:
            The result, its values for the side to move in `position`.

        Raises:
            ValueError: there is no legal move, a limit is out of range, or a limit is given twice.
            PositionError: a FEN cannot be read.
            EngineError: the engine is closed, or searching.

        Example:
            >>> engine = Engine.load("uniform")
            >>> result = engine.search("B:W18:B14,1", sims=50, multipv=2)
            >>> [(str(line.move), line.proven) for line in result.lines]
            [('14x23', 'win')]
            >>> result.visits["14x23"], result.reason
            (1, <StopReason.PROVEN: 'proven'>)
        """
        if limit is None:
            limit = Limit(visits=sims, seconds=seconds)
            if sims is None and seconds is None:
                limit = Limit(visits=DEFAULT_VISITS)
        elif sims is not None or seconds is not None:
            raise ValueError("expected a limit, or sims and seconds, found both")
        return self._run(self._begin(position, limit, history, multipv))

    def analysis(
        self,
        position: Position | str,
        limit: Limit | None = None,
        *,
        multipv: int = 1,
        history: Sequence[Position | str] = (),
        interval: float = INTERVAL,
    ) -> Analysis:
        """Search a position in a thread of its own and read the results during the search.

        Args:
            position, multipv, history: see `search`.
            limit: when the search ends; None: when it is stopped, the root is proven or the tree is full.
            interval: seconds between two results, 0 or more; the first comes as soon as possible.

        Returns:
            The search in progress.

        Raises:
            ValueError, PositionError, EngineError: see `search`.

        Example:
            >>> with Engine.load("uniform") as engine:
            ...     with engine.analysis(Position.start(), multipv=3) as analysis:
            ...         for result in analysis:
            ...             if result.sims >= 1000:
            ...                 break
            ...     final = analysis.wait()
            >>> len(final.lines), final.sims >= 1000, str(final.reason)
            (3, True, 'stopped')
        """
        if not interval >= 0:
            raise ValueError(f"expected interval >= 0, found {interval!r}")
        task = self._begin(position, limit or Limit(), history, multipv)
        return Analysis(lambda publish: self._run(task, publish, interval), task.stop.set)

    # --- the search itself --------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the engine is closed; load another one")

    def _check_idle(self) -> None:
        self._check_open()
        if self._task is not None:
            raise EngineError("the engine is searching; stop that search first, or use another engine")

    def _begin(
        self, position: Position | str, limit: Limit, history: Sequence[Position | str], multipv: int
    ) -> _Task:
        """Check the arguments of a search and mark the engine as searching; `_run` must follow."""
        if not hasattr(multipv, "__index__") or multipv < 1:
            raise ValueError(f"expected an integer multipv >= 1, found {multipv!r}")
        with self._changed:
            self._check_idle()
            self._task = _Task(Root.read(position, history), limit, multipv)
            return self._task

    def _run(self, task: _Task, publish: Publish | None = None, interval: float = INTERVAL) -> SearchResult:
        """Run the search of `_begin`, passing intermediate results to `publish`."""
        try:
            return self._search(task, publish, interval)
        except BaseException:
            # The tree has leaves that were not evaluated: the next search starts from an empty tree.
            self._searcher.discard()
            self._root = None
            raise
        finally:
            with self._changed:
                self._task = None
                self._changed.notify_all()

    def _search(self, task: _Task, publish: Publish | None, interval: float) -> SearchResult:
        searcher, reader, limit = self._searcher, self._reader, task.limit
        if limit.by_time and self._pacing is None:
            self._pacing = measured_pacing(self.evaluator, searcher.game)
        searcher.pacing = self._pacing if limit.by_time else None
        start = time.perf_counter()
        kept = self._set_root(task.root)
        earlier_evaluations = searcher.evaluations
        published_at, published_visits = -interval, 0

        def result(reason: StopReason | None) -> SearchResult:
            return reader.result(
                task.root.position,
                task.multipv,
                seconds=time.perf_counter() - start,
                nodes=reader.nodes - kept,
                evaluations=searcher.evaluations - earlier_evaluations,
                reason=reason,
            )

        def reached() -> StopReason | None:
            if task.stop.is_set():
                return StopReason.STOPPED
            if limit.seconds is not None and time.perf_counter() - start >= limit.seconds:
                return StopReason.SECONDS
            if limit.depth is not None and reader.depth() >= limit.depth:
                return StopReason.DEPTH
            if limit.nodes is not None and reader.nodes - kept >= limit.nodes:
                return StopReason.NODES
            return None

        with one_torch_thread():
            searcher.step(np.ones(1, np.int32))  # the root is evaluated under any limit
            reason = reached()
            while reason is None:
                reason = self._step(limit, kept) or reached()
                if publish is not None and reader.ready and reason is None:
                    now, visits = time.perf_counter() - start, int(searcher.root(0)["visits"])
                    if now - published_at >= interval and visits > published_visits:
                        publish(result(None))
                        published_at, published_visits = time.perf_counter() - start, visits
            searcher.flush()
            return result(reason)

    def _step(self, limit: Limit, kept: int) -> StopReason | None:
        """Search one more batch; return why the search has ended, or None if it has not."""
        searcher = self._searcher
        max_visits = target_visits = MAX_COUNT if limit.visits is None else int(limit.visits)
        if limit.nodes is not None:
            # A visit adds one position at most.
            remaining = limit.nodes - (self._reader.nodes - kept)
            target_visits = min(max_visits, int(searcher.root(0)["visits"]) + searcher.in_flight + remaining)
        root = searcher.root(0)
        visits_before = int(root["visits"])
        if searcher.step(np.array([target_visits], np.int32)):
            return None
        if root["proof"] != NONE:
            return StopReason.PROVEN
        if root["visits"] >= max_visits:
            return StopReason.VISITS
        return StopReason.FULL if root["visits"] == visits_before < target_visits else None

    def _set_root(self, root: Root) -> int:
        """Make a position the root, keeping its subtree if the tree has it.

        Returns:
            The number of positions in the tree that earlier searches added.
        """
        searcher, here = self._searcher, root.position
        actions = None if self._root is None else root.actions_from(self._root)
        if actions is not None:
            for action in actions:
                searcher.play(0, action)
        else:
            history = root.history[-here.halfmove_clock :] if here.halfmove_clock else []
            keys = [pack(replace(p, halfmove_clock=0)) for p in history]
            searcher.set_root(0, pack(here), np.array(keys, np.int64).reshape(-1, 2))
        if searcher.root(0)["status"] == TERMINAL:
            # There is a legal move, so the position is drawn by rule. Search it as if it were not: without
            # its history, and if it is still drawn, despite its halfmove clock.
            searcher.set_root(0, pack(here))
            if searcher.root(0)["status"] == TERMINAL:
                searcher.tree_batch.nodes[0, 0]["status"] = NEW
                searcher.tree_batch.nodes[0, 0]["proof"] = NONE
        self._root = root
        self._reader.root_changed()
        return 0 if searcher.root(0)["status"] == NEW else self._reader.nodes
