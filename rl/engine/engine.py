"""`Engine`: tree search of positions with a network, or without one, within limits."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game import Position
from ckai.models.inference.devices import one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.models.pretrained import CKAI
from ckai.rl.engine.analysis import Publish
from ckai.rl.engine.base import AnyEngine
from ckai.rl.engine.result import Policy, SearchResult, StopReason
from ckai.rl.engine.root import Root, legal_moves, read_position, set_root
from ckai.rl.engine.task import SearchRun, Task
from ckai.rl.engine.tree_reader import TreeReader, evaluate_policy
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec
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
REUSE_SECONDS = 0.6e-6
"""Most seconds that a search needs per position of the tree that it takes over."""


class Engine(AnyEngine):
    """Searches positions with PUCT and an evaluator; see `AnyEngine`.

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
    ) -> None:
        """Create an engine; compiles what searches need unless the cache has it, with a line that says so.

        Args:
            evaluator: evaluates positions; `close` leaves it open, unless `owns_evaluator` is set.
            seed: seed of the noise at the root, if `constants` have any; None: 0.
            constants: constants of the search; None: those that suit the evaluator.
            nodes: positions in the tree at which a search ends; None: what a quarter of the memory holds.
            leaves: most positions in one call of the evaluator; a small tree sends fewer.
            batches: calls of the evaluator in flight, of which `threads` run at the same time. Results depend
                on this number, not on timing. With a time limit each thread has one, and results vary.
            threads: see `batches`.
            spec: the game.
            tables: tablebases. The search proves every position in them, and plays the shortest win or
                the longest loss there. None: none.
        """
        super().__init__()
        self.evaluator, self.tables, self.spec = evaluator, tables, spec
        self.owns_evaluator = False
        if constants is None and spec.search_defaults and not isinstance(evaluator, RolloutEvaluator):
            constants = SearchConstants(**spec.search_defaults)
        self._searcher = make_searcher(
            evaluator,
            nodes=nodes,
            leaves=leaves,
            visits_per_leaf=VISITS_PER_LEAF,
            batches=batches,
            threads=threads,
            constants=constants,
            game=spec.make_rules(tables),
            seed=0 if seed is None else seed,
        )
        self._batch_sizer: BatchSizer | None = None
        self._policy = partial(evaluate_policy, evaluator)
        self._reader = TreeReader(self._searcher, tables, self._policy)
        self._root: Root | None = None
        """Root of the last search; None if its tree cannot be used again."""

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
        engine.owns_evaluator = True
        engine.measure()
        return engine

    def measure(self) -> None:
        """Measure the evaluator now, so that no search by time has to."""
        self._batch_sizer = measured_batch_sizer(self.evaluator, self._searcher.game)

    def __repr__(self) -> str:
        tables = "" if self.tables is None else f", tables of {self.tables.pieces} pieces"
        return f"<Engine {self.evaluator.name}{tables}{', closed' if self._closed else ''}>"

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

    # --- see `AnyEngine` ----------------------------------------------------------------------------

    def _forget(self) -> None:
        self._root = None

    def _release(self) -> None:
        self._searcher.close()
        del self._searcher, self._reader  # the tree may be a hundred megabytes
        if self.owns_evaluator:
            self.evaluator.close()

    def _spoiled(self) -> None:
        # The tree has leaves that were not evaluated: the next search starts from an empty tree.
        self._searcher.discard()
        self._root = None

    def _takes_too_long_to_keep(self, task: Task) -> bool:
        """Return whether taking over the part of the tree below a move could use up the time of this one."""
        times = task.limit.move_time(len(task.root.history))
        if times is None or self._root is None or self._root.position == task.root.position:
            return False
        return self._reader.nodes * REUSE_SECONDS > times.maximum / 2

    def _search(self, task: Task, publish: Publish | None, interval: float) -> SearchResult:
        searcher, reader, limit = self._searcher, self._reader, task.limit
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
