"""`Searcher`: searches many positions at once, each in its own tree, with shared batches of evaluations."""

import math
import timeit
from bisect import bisect_right
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import compile_for
from ckai.models.inference.evaluator import Evaluator, non_finite_error
from ckai.models.inference.threads import one_torch_thread, use_one_torch_thread
from ckai.rl.games.contract import State
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.search.arrays import TreeBatch, allocate_trees
from ckai.rl.search.batch import best_action, expand_and_backup, move_root, select_all_leaves, set_root_state
from ckai.rl.search.inline_search import Playouts, inline_evaluation, search_trees
from ckai.rl.search.selection import ALPHAZERO_C_BASE, SearchConstants

THREADS = 2
"""Threads, each with a batch, of a search by time; more in flight are worth less than they cost."""
MIN_THREADED_LEAVES = 16
"""Smallest batch by time of which several are in flight."""
ROLLOUT_CONSTANTS = SearchConstants(c_init=3.0, c_base=ALPHAZERO_C_BASE)
"""Constants that suit equal priors over about 8 actions."""
INLINE_SIMULATIONS = 256
"""Most simulations of one tree in a step inside the kernels: 1 or 2 ms."""
SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Sizes of calls."""


@dataclass(frozen=True)
class BatchSizer:
    """Chooses how many leaves to evaluate in the next call, from the latency of an evaluator.

    A call of an evaluator takes about `overhead + n * cost` for n positions. Many positions a call use the
    time better; but leaves that are selected together do not profit from each other's values, which matters
    less the larger the tree is. With a tree of N visits the leaves of a call are worth about n (1 - n / 2N)
    leaves that are selected one by one, so that the worth per second is greatest at

        n = h (sqrt(1 + 2 N / h) - 1) with h = overhead / cost,

    rounded down to one of a few sizes, because some backends prepare each size once. Results depend on the
    measured latency, so this is for searches with a time limit only.
    """

    overhead: float
    """h, the number of positions that take as long as the overhead of a call, above 0."""
    cost: float = 0.0
    """Seconds that a position adds to a call, 0 if unknown."""

    def max_latency(self, leaves: int) -> float:
        """Return the seconds that the largest call takes, of `leaves` leaves or `SIZES[-1]`."""
        return (self.overhead + min(leaves, SIZES[-1])) * self.cost

    def leaves(self, visits: int) -> int:
        """Return the most leaves for a call when the root has this many visits."""
        best = self.overhead * (math.sqrt(1 + 2 * max(visits, 1) / self.overhead) - 1)
        return SIZES[max(0, bisect_right(SIZES, best) - 1)]

    @staticmethod
    def measure(evaluator: Evaluator, game: Any) -> "BatchSizer":
        """Time some calls of an evaluator from this thread, some milliseconds in all; `game` is the rules."""
        sizes, latencies = (1, 16, 64), []
        for size in sizes:
            boards = np.zeros((size, game.POSITION_BYTES), np.int8)
            outputs = np.zeros((size, game.NUM_ACTIONS), np.float32), np.zeros(size, np.float32)
            with one_torch_thread():
                evaluate = partial(evaluator.evaluate, boards, *outputs)
                evaluate()  # prepares the size
                # The fastest counts: other work only makes calls slower.
                latencies.append(min(timeit.repeat(evaluate, number=1, repeat=7)))
        cost, overhead = np.polyfit(sizes, latencies, 1)
        cost = max(float(cost), 1e-9)
        return BatchSizer(max(float(overhead) / cost, 0.1), cost)


class _Batch:
    """Leaves in flight: a part of the slots of the `TreeBatch`, and their logits and values."""

    def __init__(self, tree_batch: TreeBatch, first: int, size: int, actions: int) -> None:
        part = slice(first, first + size)
        self.tree_batch = tree_batch._replace(slots=tree_batch.slots[part], boards=tree_batch.boards[part])
        self.logits, self.values = np.zeros((size, actions), np.float32), np.zeros(size, np.float32)
        self.slots = 0
        """Leaves in flight."""
        self.evaluation: Future[None] | None = None
        """Their evaluation in another thread."""


class Searcher:
    """T searches side by side, each in its own tree; the leaves of all trees are evaluated in one call.

    An `IntegerEvaluator` and a `RolloutEvaluator` evaluate leaves inside the kernels, one by one.

    Attributes:
        tree_batch: the trees, a `TreeBatch`.
        game: the rules.
        constants: the `SearchConstants`.
        batch_sizer: chooses the sizes of batches in a search by time, in place of `visits_per_leaf`; None:
            there is no time limit.
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
            batches: batches in flight, each evaluated by a thread. They are filled in turn, so the results do
                not depend on timing; in a search by time the first that is ready is filled.
            constants: constants of the search; None: those that suit the evaluator.
            game: the rules, see `ckai.rl.games.contract`; None: checkers.
            seed: seed of the noise at the roots and of playouts.
            transpositions: see `ckai.rl.search.transpositions`.
        """
        self.evaluator = evaluator
        self.game: Any = DEFAULT_GAME.rules if game is None else game
        self.inline = inline_evaluation(evaluator, self.game)
        """What evaluates the leaves inside the kernels; None: there are batches."""
        playouts = isinstance(self.inline, Playouts)
        if self.inline is not None:
            leaves = batches = 1
        constants = constants or (ROLLOUT_CONSTANTS if playouts else SearchConstants())
        self.constants = SearchConstants(*map(float, constants))  # an int would recompile kernels
        self.chunk = INLINE_SIMULATIONS
        self.leaves, self.visits_per_leaf = leaves, visits_per_leaf
        self.batch_sizer: BatchSizer | None = None
        # Two playouts of a position are two samples.
        shared = transpositions and not playouts
        self.tree_batch = allocate_trees(self.game, trees, nodes, leaves * batches, transpositions=shared)
        self.tree_batch.info["rng"] = np.random.SeedSequence(seed).generate_state(trees, np.uint64)
        self._batches = [
            _Batch(self.tree_batch, n * trees * leaves, trees * leaves, self.game.NUM_ACTIONS)
            for n in range(batches)
        ]
        self._pool = ThreadPoolExecutor(batches, "evaluator", use_one_torch_thread)
        self._visits = np.zeros(trees, np.int32)
        self._compile()

    def _compile(self) -> None:
        """Compile what a search calls: it must not count against a time limit."""
        batch, trees = self._batches[0], self.tree_batch
        compile_for(move_root, self.game, trees, 0, 0)
        compile_for(best_action, trees, 0)
        if self.inline is not None:
            step = (self.game, trees, self._visits, self.chunk, self.constants, self.inline)
            self._search = compile_for(search_trees, *step)
        else:
            trees, constants = batch.tree_batch, self.constants
            self._select = compile_for(select_all_leaves, self.game, trees, constants, self._visits, 1, 0)
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
        """Back up batches, fill them with new leaves and evaluate them.

        `visits` is `[T]` int32, the visit count at which the search of each root ends; visits kept from an
        earlier search count. Returns the number of leaves in flight, or of simulations inside the kernels; 0
        once all searches have ended. Raises what the evaluator does, or a ValueError about its answer; leaves
        are in flight then: call `discard`.
        """
        self._visits = np.ascontiguousarray(visits, np.int32)
        if self.inline is not None:
            before = self.tree_batch.info["simulations"].sum()
            step = (self.game, self.tree_batch, self._visits, self.chunk, self.constants, self.inline)
            self._search(*step)
            return int(self.tree_batch.info["simulations"].sum() - before)
        most, batches = len(self._batches), self._batches
        if self.batch_sizer is not None:
            most = min(most, THREADS if self._most_leaves()[0] >= MIN_THREADED_LEAVES else 1)
            wait([each.evaluation for each in batches if each.evaluation], return_when=FIRST_COMPLETED)
            batches = [
                each
                for number, each in enumerate(batches)
                if (each.evaluation.done() if each.evaluation else number < most)
            ]
        for batch in batches:
            if self._fill(batch):
                if most == 1:
                    self._evaluate(batch)
                else:
                    batch.evaluation = self._pool.submit(self._evaluate, batch)
        return self.in_flight

    def _most_leaves(self) -> tuple[int, int]:
        """Return the most leaves of a tree in the next batch, and the visits that allow one more."""
        if self.batch_sizer is None:
            return self.leaves, self.visits_per_leaf
        most_visits = int(self.tree_batch.nodes["visits"][:, 0][self._visits > 0].max(initial=0))
        return min(self.leaves, self.batch_sizer.leaves(most_visits)), 0

    def _fill(self, batch: _Batch) -> bool:
        """Back up a batch and fill it again; return whether it has leaves."""
        self._back_up(batch)
        step = (self.game, batch.tree_batch, self.constants, self._visits, *self._most_leaves())
        batch.slots = int(self._select(*step))
        return batch.slots > 0

    def _evaluate(self, batch: _Batch) -> None:
        n = batch.slots
        self.evaluator.evaluate(batch.tree_batch.boards[:n], batch.logits[:n], batch.values[:n])

    def _back_up(self, batch: _Batch) -> None:
        if batch.evaluation is not None:
            batch.evaluation.result()
            batch.evaluation = None
        if not batch.slots:
            return
        if not self._expand(batch.tree_batch, batch.slots, batch.logits, batch.values):
            raise non_finite_error(self.evaluator)
        batch.slots = 0

    def flush(self) -> None:
        """Wait for all batches in flight and back them up; raises what `step` does."""
        for batch in self._batches:
            self._back_up(batch)

    def discard(self) -> None:
        """Drop all leaves in flight, as after an error; every tree needs a new root then."""
        for batch in self._batches:
            if batch.evaluation is not None:
                wait([batch.evaluation])
            batch.slots, batch.evaluation = 0, None

    def close(self) -> None:
        """Stop the threads."""
        self._pool.shutdown()

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
        return int(best_action(self.tree_batch, t))

    def root(self, t: int) -> Any:
        """Return the NODE record of the root of tree `t`, as a view."""
        return self.tree_batch.nodes[t, 0]
