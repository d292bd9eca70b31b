"""`Engine`: searches positions of checkers with a network, within limits."""

import threading
import time
from collections.abc import Sequence
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
from ckai.rl.engine.limit import DEFAULT_VISITS, EngineError, Limit
from ckai.rl.engine.policy import evaluate_policy
from ckai.rl.engine.result import Policy, SearchResult, StopReason
from ckai.rl.engine.root import Root, legal_moves, read_position, set_root
from ckai.rl.engine.task import SearchRun, Task
from ckai.rl.engine.tree_reader import TreeReader
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.checkers import Checkers
from ckai.rl.search.arrays import NEW
from ckai.rl.search.batch_sizing import BatchSizer
from ckai.rl.search.inline_search import make_searcher, measured_batch_sizer
from ckai.rl.search.selection import SearchConstants

LEAVES = 256
"""Most positions in one call of the network."""
VISITS_PER_LEAF = 48
"""Root visits that allow one more position in a call, unless time alone ends the search: see `BatchSizer`."""
BATCHES, THREADS = 3, 2
"""Calls of the network in flight under a visit limit, and how many of them run at the same time."""
INTERVAL = 0.1
"""Seconds between two results of an analysis."""


class Engine:
    """Searches positions with PUCT and an evaluator.

    An engine runs one search at a time. `stop` and `close` may be called from any thread, other methods only
    while no search is in progress; they stop one that was begun by `ponder`. The next search of the same game
    keeps the subtree of its position.

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
        nodes: int | None = None,
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
            nodes: positions in the tree at which a search ends; None: what a quarter of the memory holds.
            leaves: most positions in one call of the evaluator; a small tree sends fewer.
            batches: calls of the evaluator in flight, of which `THREADS` run at the same time. Results depend
                on this number, not on timing. With a time limit each thread has one, and results vary.
            game: the draw rules; None: the usual ones.
            tables: tablebases. The search proves every position in them, and plays the shortest win or
                the longest loss there. None: none.
        """
        self.evaluator = evaluator
        self.tables = tables
        self._owns_evaluator = False
        self._searcher = make_searcher(
            evaluator,
            nodes=nodes,
            leaves=leaves,
            visits_per_leaf=VISITS_PER_LEAF,
            batches=batches,
            threads=THREADS,
            constants=constants,
            game=(game or Checkers()).with_tables(tables),
            seed=0 if seed is None else seed,
        )
        self._batch_sizer: BatchSizer | None = None
        self._policy = partial(evaluate_policy, evaluator)
        self._reader = TreeReader(self._searcher, tables, self._policy)
        self._root: Root | None = None
        """Root of the last search; None if its tree cannot be used again."""
        self._changed = threading.Condition()
        self._task: Task | None = None
        self._pondering: Analysis | None = None
        self._closed = False

    @classmethod
    def load(
        cls,
        source: str | Path = CKAI,
        *,
        evaluator: str = "auto",
        tables: Tables | int | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> "Engine":
        """Create an engine from a checkpoint.

        Args:
            source: a checkpoint file; or `ckai`, the network installed with ckai; or `uniform`, a search
                without a network; or `rollout`, a search with random playouts.
            evaluator: the backend of the network, see `load_evaluator`: `auto`, that of this machine.
            tables: tablebases, or their number of pieces (see `Tables.open`); None or 0: none.
            seed: see `Engine`.
            **settings: other arguments of `Engine`.

        Raises:
            CheckpointError: the file is not a checkpoint for checkers.
            TableError: there are no such tables.
            ValueError: there is no such backend, or it is not available on this machine.
        """
        tables = Tables.open(tables) if tables and isinstance(tables, int) else tables or None
        loaded = load_evaluator(source, evaluator, threads=THREADS)
        engine = cls(loaded, seed=seed, tables=tables, **settings)
        engine._owns_evaluator = True
        engine._batch_sizer = measured_batch_sizer(loaded, engine._searcher.game)
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
            self._end_pondering()
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
            self._make_idle()
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
                clock of a FEN without H.
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
        return self._analyse((position, limit or Limit(), history, multipv), interval)

    def ponder(
        self,
        position: Position | str,
        *,
        history: Sequence[Position | str] = (),
        multipv: int = 1,
        interval: float = INTERVAL,
    ) -> Analysis:
        """Search on the opponent's time, until the next search, `stop` or `close`.

        Args:
            position: the position in which the opponent is to move, or the one after the expected reply. The
                next search of this game takes over what it needs of the tree: the part below the reply that
                was played, or nothing if the expected reply was not.
            history, multipv, interval: see `analysis`.

        Returns:
            The search in progress. An error in it does not spoil the next search.

        Raises:
            ValueError, PositionError, EngineError: see `search`.

        Example:
            >>> with Engine.load("uniform") as engine:
            ...     position = Position.start().push("11-15")
            ...     pondering = engine.ponder(position)
            ...     expected = next(pondering).move
            ...     result = engine.search(position.push(expected), seconds=0.01)
            >>> str(pondering.wait().reason), result.sims > result.evaluations
            ('stopped', True)
        """
        self._pondering = self._analyse((position, Limit(), history, multipv), interval, gives_way=True)
        return self._pondering

    # --- the search itself --------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the engine is closed; load another one")

    def _make_idle(self) -> None:
        """Stop a search on the opponent's time; raise an error if there is another search."""
        if self._task is not None and self._task.gives_way:
            self._task.stop.set()
            self._changed.wait_for(lambda: self._task is None)
        self._check_open()
        if self._task is not None:
            raise EngineError("the engine is searching; stop that search first, or use another engine")
        self._end_pondering()

    def _end_pondering(self) -> None:
        """Wait for the thread of a search on the opponent's time, which has ended."""
        if self._pondering is not None:
            self._pondering.join()

    def _begin(
        self,
        position: Position | str,
        limit: Limit,
        history: Sequence[Position | str],
        multipv: int,
        *,
        gives_way: bool = False,
    ) -> Task:
        """Check the arguments of a search and mark the engine as searching; `_run` must follow."""
        if not hasattr(multipv, "__index__") or multipv < 1:
            raise ValueError(f"expected an integer multipv >= 1, found {multipv!r}")
        with self._changed:
            self._make_idle()
            self._task = Task(Root.read(position, history), limit, multipv, gives_way)
            return self._task

    def _analyse(self, search: tuple[Any, ...], interval: float, gives_way: bool = False) -> Analysis:
        """Run a search, given as the arguments of `_begin`, in a thread of its own."""
        if not interval >= 0:
            raise ValueError(f"expected interval >= 0, found {interval!r}")
        task = self._begin(*search, gives_way=gives_way)
        return Analysis(lambda publish: self._run(task, publish, interval), task.stop.set)

    def _run(self, task: Task, publish: Publish | None = None, interval: float = INTERVAL) -> SearchResult:
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

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        searcher, reader, limit = self._searcher, self._reader, task.limit
        if limit.by_time and self._batch_sizer is None:
            self._batch_sizer = measured_batch_sizer(self.evaluator, searcher.game)
        searcher.batch_sizer = self._batch_sizer if limit.by_time else None
        begun = time.perf_counter()
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
                task.multipv,
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
