"""`Searcher`: searches many positions at once, each in its own tree, with shared batches of evaluations."""

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import compile_for
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import use_one_torch_thread
from ckai.rl.evaluators.calling import evaluate_into, non_finite_error
from ckai.rl.games.contract import State, as_state
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.search.arrays import TreeBatch, allocate_largest, allocate_trees
from ckai.rl.search.batch import best_action, expand_and_backup, move_root, select_all_leaves, set_root_state
from ckai.rl.search.batch_sizing import BatchSizer
from ckai.rl.search.move_time import OVERHEAD
from ckai.rl.search.selection import SearchConstants
from ckai.rl.search.threads import Helpers

MIN_THREADED_LEAVES = 16
"""Smallest batch with which several threads search a tree by time."""
MAX_STEP_SIMULATIONS = 20_000
"""Most simulations per step of a timed search. Those that end at proven positions fill no batch, so an
unbounded step could run for minutes without checking the clock; this many take milliseconds."""


class _Batch:
    """Leaves in flight: a part of the slots of the `TreeBatch`, and their logits and values."""

    def __init__(self, tree_batch: TreeBatch, first: int, size: int, actions: int) -> None:
        part = slice(first, first + size)
        self.tree_batch = tree_batch._replace(slots=tree_batch.slots[part], boards=tree_batch.boards[part])
        self.logits, self.values = np.zeros((size, actions), np.float32), np.zeros(size, np.float32)
        self.slots = 0
        """Leaves in flight."""
        self.evaluation: Future[None] | None = None
        """Done once `logits` and `values` are written; None if they were written in this thread."""


class Searcher:
    """T searches side by side, each in its own tree; the leaves of all trees are evaluated in one call.

    Attributes:
        tree_batch: the trees, a `TreeBatch`.
        game: the rules.
        constants: the `SearchConstants`.
        batch_sizer: chooses the sizes of batches in a search by time, in place of `visits_per_leaf`; None:
            there is no time limit.
        evaluations: positions evaluated and backed up so far, of all trees.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        trees: int = 1,
        nodes: int | None = 1024,
        leaves: int = 1,
        visits_per_leaf: int = 0,
        batches: int = 1,
        threads: int | None = None,
        constants: SearchConstants | None = None,
        game: Any = None,
        seed: int = 0,
        transpositions: bool = True,
    ) -> None:
        """Allocate the trees.

        Args:
            evaluator: evaluates the leaves; stays open when the searcher is closed.
            trees: T, number of trees.
            nodes: capacity of a tree in nodes; None: all trees together may take a quarter of the memory.
            leaves: most leaves of one tree in a batch. Leaves in flight count as visits, which spreads them.
            visits_per_leaf: root visits that allow one more leaf in a batch; 0: always up to `leaves`.
            batches: batches in flight. Above 1 they are evaluated in threads while the next one is filled,
                and backed up in the order in which they were filled, so the results do not depend on timing.
                In searches by time each thread has one, see `_step_by_time`.
            threads: threads that evaluate batches if there are several; None: `batches`.
            constants: constants of the search; None: the defaults.
            game: the rules, see `ckai.rl.games.contract`; None: checkers.
            seed: seed of the noise at the roots.
            transpositions: see `ckai.rl.search.transpositions`.
        """
        self.evaluator = evaluator
        rules: Any = DEFAULT_GAME.rules if game is None else game
        self.game = rules
        self.constants = (constants or SearchConstants()).typed()
        self.leaves = leaves
        self.visits_per_leaf = visits_per_leaf
        self.batch_sizer: BatchSizer | None = None
        slots = leaves * batches
        self.tree_batch: TreeBatch = (
            allocate_largest(rules, trees, slots, transpositions=transpositions)
            if nodes is None
            else allocate_trees(rules, trees, nodes, slots, transpositions=transpositions)
        )
        self.tree_batch.info["rng"] = np.random.SeedSequence(seed).generate_state(trees, np.uint64)
        size = trees * leaves
        self._batches = deque(
            _Batch(self.tree_batch, n * size, size, rules.NUM_ACTIONS) for n in range(batches)
        )
        self._num_threads = threads or batches
        self._start_threads()
        self._helpers = Helpers()
        self._visits = np.zeros(trees, np.int32)
        self.evaluations = 0
        self._compile()

    def _start_threads(self) -> None:
        self._process = os.getpid()
        self._threads = ThreadPoolExecutor(self._num_threads, initializer=use_one_torch_thread)

    def _compile(self) -> None:
        """Compile what a search calls: it must not count against a time limit."""
        batch, trees, visits = self._batches[0], self.tree_batch, np.zeros(1, np.int32)
        compile_for(move_root, self.game, trees, 0, 0)
        compile_for(best_action, trees, 0)
        self._compile_step(batch, visits)

    def _compile_step(self, batch: _Batch, visits: NDArray[np.int32]) -> None:
        trees, constants = batch.tree_batch, self.constants
        self._select_leaves = compile_for(select_all_leaves, self.game, trees, constants, visits, 1, 0)
        self._expand = compile_for(expand_and_backup, trees, 0, batch.logits, batch.values)

    @property
    def in_flight(self) -> int:
        """Leaves in flight, of all trees."""
        return sum(batch.slots for batch in self._batches)

    def set_root(self, t: int, state: State, history: NDArray[np.int64] | None = None) -> None:
        """Empty tree `t` and make a state its root; leaves in flight are backed up first.

        `history` is `[n, STATE_WORDS]` int64, repetition keys (`contract.key`) of the earlier states of the
        game, oldest first.
        """
        self.flush()
        keys = np.zeros((0, len(state)), np.int64) if history is None else history
        set_root_state(self.game, self.tree_batch, t, state, keys)

    def step(self, visits: NDArray[np.int32]) -> int:
        """Back up a batch, fill it with new leaves and evaluate them.

        Args:
            visits: `[T]` int32, visit count at which the search of each root ends; visits kept from an
                earlier search count.

        Returns:
            The number of leaves in flight, of all batches; 0 once all searches have ended.

        Raises:
            ValueError: the evaluator answered with another shape, or with a number that is not finite.
            Exception: whatever else the evaluator raised. After any of these errors leaves are still in
                flight: call `discard`.
        """
        return self._step(visits) if self.batch_sizer is None else self._step_by_time(visits)

    def _step(self, visits: NDArray[np.int32]) -> int:
        """Take the oldest batch, so that results do not depend on the timing of the threads."""
        batch = self._batches.popleft()
        self._batches.append(batch)
        if self._fill(batch, visits, self.leaves, self.visits_per_leaf):
            if len(self._batches) > 1:
                if self._process != os.getpid():
                    self._start_threads()  # a process that was forked has none
                batch.evaluation = self._threads.submit(self._evaluate, batch)
            else:
                self._evaluate(batch)
        return self.in_flight

    def _step_by_time(self, visits: NDArray[np.int32]) -> int:
        """Take this thread's batch; once batches are large, other threads do the same until the next flush.

        Each thread fills, evaluates and backs up its own batch: none waits for one that is handed out, and no
        more leaves are in flight than are being evaluated.
        """
        self._visits = visits
        own, *others = islice(self._batches, self._num_threads)
        if self._helpers.ended:
            self.flush()
        if others and not self._helpers.running and self._timed_leaves >= MIN_THREADED_LEAVES:
            self.flush()
            self._helpers.start([(partial(self._fill_timed, b), partial(self._evaluate, b)) for b in others])
        if not self._fill_timed(own):
            self.flush()  # the leaves in flight may be what is missing
            if not self._fill_timed(own):
                return 0
        with self._helpers.released():
            self._evaluate(own)
        return self.in_flight

    @property
    def _timed_leaves(self) -> int:
        """Leaves of the next batch in a search by time."""
        assert self.batch_sizer is not None
        max_visits = int(self.tree_batch.nodes["visits"][:, 0][self._visits > 0].max(initial=0))
        return min(self.leaves, self.batch_sizer.leaves(max_visits))

    def _fill_timed(self, batch: _Batch) -> bool:
        return self._fill(batch, self._visits, self._timed_leaves, 0)

    def _fill(self, batch: _Batch, visits: NDArray[np.int32], leaves: int, visits_per_leaf: int) -> bool:
        """Back up a batch and fill it again; return whether it has leaves."""
        self._flush(batch)
        visits = np.ascontiguousarray(visits, np.int32)
        batch.slots = int(
            self._select_leaves(self.game, batch.tree_batch, self.constants, visits, leaves, visits_per_leaf)
        )
        return batch.slots > 0

    def flush(self) -> None:
        """Wait for all batches in flight and back them up; raises what `step` does."""
        self._helpers.stop()
        for batch in self._batches:
            self._flush(batch)

    def discard(self) -> None:
        """Drop all leaves in flight, as after an error; all trees are reduced to their roots."""
        with suppress(Exception):
            self._helpers.stop()
        for batch in self._batches:
            if batch.evaluation is not None:
                batch.evaluation.exception()  # waits, because the thread may still be writing
                batch.evaluation = None
            batch.slots = 0
        for t in range(len(self.tree_batch.nodes)):
            history = self.tree_batch.history[t, : self.tree_batch.info[t]["history_length"]].copy()
            self.set_root(t, as_state(self.root(t)["state"]), history)

    def close(self) -> None:
        """Stop the threads; the searcher cannot be used afterwards."""
        with suppress(Exception):
            self._helpers.stop()
        self._threads.shutdown()

    def _evaluate(self, batch: _Batch) -> None:
        n = batch.slots
        evaluate_into(self.evaluator, batch.tree_batch.boards[:n], batch.logits[:n], batch.values[:n])

    def _flush(self, batch: _Batch) -> None:
        if not batch.slots:
            return
        if batch.evaluation is not None:
            batch.evaluation.result()
            batch.evaluation = None
        if not self._expand(batch.tree_batch, batch.slots, batch.logits, batch.values):
            raise non_finite_error(self.evaluator)
        self.evaluations += batch.slots
        batch.slots = 0

    def run(self, visits: NDArray[np.int32]) -> None:
        """Search until every root has its visits or is proven, or its tree is full; see `step`."""
        while self.step(visits):
            pass

    def play(self, t: int, action: int) -> None:
        """Play an action at the root of tree `t` and keep the subtree; leaves in flight are backed up first.

        A ValueError says that the action is not legal there; the tree is unchanged.
        """
        self.flush()
        if action < 0 or not move_root(self.game, self.tree_batch, t, action):
            raise ValueError(f"action {action} is not legal at the root of tree {t}")

    def best(self, t: int) -> int:
        """Return the action to play in tree `t`, see `ckai.rl.search.mcts.best_root_edge`."""
        action: int = best_action(self.tree_batch, t)
        return action

    def root(self, t: int) -> Any:
        """Return the NODE record of the root of tree `t`, as a view."""
        return self.tree_batch.nodes[t, 0]

    def root_edges(self, t: int) -> Any:
        """Return the EDGE records of the root of tree `t`, as a view; none before it is expanded."""
        root = self.root(t)
        first = int(root["first_edge"])
        return self.tree_batch.edges[t, first : first + int(root["num_edges"])]

    @property
    def time_margin(self) -> float:
        """Seconds to keep back on a move by the clock: its overhead, and batches to complete."""
        batches = 2 * self.batch_sizer.max_latency(self.leaves) if self.batch_sizer else 0.0
        return OVERHEAD + batches
