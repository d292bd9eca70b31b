"""`Searcher`: searches many positions at once, each in its own tree, with shared batches of evaluations."""

from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import compile_for
from ckai.models.inference.devices import use_one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.calling import evaluate_into, no_edge_error, non_finite_error
from ckai.rl.games.contract import State, as_state
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.search.arrays import GROWING, TreeBatch, allocate_trees, grown, memory_nodes, part_of
from ckai.rl.search.batch import (
    add_root,
    best_action,
    expand_and_backup,
    keep_root_action,
    play_root_action,
    select_all_leaves,
    set_root_state,
)
from ckai.rl.search.clock import Contest, contest
from ckai.rl.search.pacing import Pacing
from ckai.rl.search.selection import SearchConstants

THREADED = 16
"""Least leaves of a batch that is worth a thread of its own when time is short."""
LARGE = 20_000
"""Visits of a root from which a search by time has one batch more in flight, so that no thread waits for one.
In a smaller tree this would lose more, because leaves in flight do not profit from each other's values."""


class _Batch:
    """Leaves in flight: a part of the slots of the `TreeBatch`, and their logits and values."""

    def __init__(
        self, tree_batch: TreeBatch, first: int, size: int, actions: int, *, spare: bool = False
    ) -> None:
        part = slice(first, first + size)
        self.spare = spare
        """Whether it is filled in searches of LARGE trees by time only."""
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
        pacing: sizes of batches for a search by time, in place of `growth`; None: there is no limit of time.
        evaluations: positions evaluated and backed up so far, of all trees.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        trees: int = 1,
        nodes: int = 1024,
        leaves: int = 1,
        growth: int = 0,
        batches: int = 1,
        threads: int | None = None,
        constants: SearchConstants | None = None,
        game: Any = None,
        seed: int = 0,
    ) -> None:
        """Allocate the trees.

        Args:
            evaluator: evaluates the leaves; stays open when the searcher is closed.
            trees: T, number of trees.
            nodes: capacity of a tree in nodes; a search ends when its tree is full, see `make_room`.
            leaves: most leaves of one tree in a batch. Leaves in flight count as visits, which spreads them.
            growth: root visits that allow one more leaf in a batch, so that a small tree sends small batches;
                0: always up to `leaves`.
            batches: batches in flight. Above 1 they are evaluated in threads while the next one is filled.
                They are backed up in the order in which they were filled, so the results do not depend on
                the timing of the threads. In searches by time one is added when a tree is `LARGE`.
            threads: threads that evaluate batches if there are several; None: `batches`.
            constants: constants of the search; None: the defaults.
            game: the rules, see `ckai.rl.games.contract`; None: checkers.
            seed: seed of the noise at the roots.
        """
        self.evaluator = evaluator
        rules: Any = DEFAULT_GAME.rules if game is None else game
        self.game = rules
        self.constants = (constants or SearchConstants()).typed()
        self.leaves = leaves
        self.growth = growth
        self.pacing: Pacing | None = None
        num_batches = batches + (batches > 1)
        self.tree_batch: TreeBatch = allocate_trees(
            rules, trees, nodes, leaves * num_batches, value_bias=self.constants.corrects_values
        )
        self._reserved: TreeBatch | None = None
        self.tree_batch.info["rng"] = np.random.SeedSequence(seed).generate_state(trees, np.uint64)
        size = trees * leaves
        self._batches = deque(
            _Batch(self.tree_batch, n * size, size, rules.NUM_ACTIONS, spare=n == batches)
            for n in range(num_batches)
        )
        self._threads = None
        if batches > 1:
            self._threads = ThreadPoolExecutor(threads or batches, initializer=use_one_torch_thread)
        self.evaluations = 0
        self._compile()

    def _compile(self) -> None:
        """Compile what a search calls: it must not count against a limit of time."""
        batch, trees, visits = self._batches[0], self.tree_batch, np.zeros(1, np.int32)
        compile_for(add_root, self.game, trees, 0)
        compile_for(keep_root_action, self.game, trees, 0, 0)
        compile_for(best_action, trees, 0)
        self._compile_step(batch, visits)

    def _compile_step(self, batch: _Batch, visits: NDArray[np.int32]) -> None:
        compile_for(select_all_leaves, self.game, batch.tree_batch, self.constants, visits, 1, 0)
        compile_for(expand_and_backup, batch.tree_batch, self.constants, 0, batch.logits, batch.values)

    @property
    def in_flight(self) -> int:
        """Leaves in flight, of all trees."""
        return sum(batch.slots for batch in self._batches)

    def set_root(self, t: int, state: State, history: NDArray[np.int64] | None = None) -> None:
        """Empty tree `t` and make a state its root; leaves in flight are backed up first.

        Args:
            t: index of the tree.
            state: the state, a tuple of int64 words.
            history: `[n, STATE_WORDS]`, repetition keys (`contract.key`) of the earlier states of the game,
                oldest first; None: there are none.
        """
        self.flush()
        keys = np.zeros((0, len(state)), np.int64) if history is None else history
        set_root_state(self.game, self.tree_batch, t, state, keys)

    def step(self, visits: NDArray[np.int32]) -> int:
        """Back up the oldest batch, fill it with new leaves and evaluate them; see `LARGE` for the spare one.

        Args:
            visits: `[T]`, visit count at which the search of each root ends; visits kept from an earlier
                search count.

        Returns:
            The number of leaves in flight, of all batches; 0 once all searches have ended.

        Raises:
            ValueError: the evaluator answered with another shape, or with a number that is not finite; or a
                tree has a node without an edge to follow.
            Exception: whatever else the evaluator raised. After any of these errors leaves are still in
                flight: call `discard`.
        """
        batch = self._oldest()
        leaves, growth, large = self.leaves, self.growth, False
        if self.pacing is not None:
            most_visits = int(self.tree_batch.nodes["visits"][:, 0][visits > 0].max(initial=0))
            leaves, growth = min(leaves, self.pacing.leaves(most_visits)), 0
            large = most_visits >= LARGE
        if batch.spare and not large:
            batch = self._oldest()
        slots = int(select_all_leaves(self.game, batch.tree_batch, self.constants, visits, leaves, growth))
        if slots < 0:
            raise self._no_edge_error()
        batch.slots = slots
        if batch.slots and self._threads and (self.pacing is None or batch.slots >= THREADED):
            batch.evaluation = self._threads.submit(self._evaluate, batch)
        elif batch.slots:
            self._evaluate(batch)
        return self.in_flight

    def _oldest(self) -> _Batch:
        """Back up the oldest batch, and return it to be filled again."""
        batch = self._batches.popleft()
        self._batches.append(batch)
        self._flush(batch)
        return batch

    def flush(self) -> None:
        """Wait for all batches in flight and back them up.

        Raises:
            ValueError, Exception: see `step`.
        """
        for batch in self._batches:
            self._flush(batch)

    def discard(self) -> None:
        """Drop all leaves in flight, as after an error; their trees are reduced to the root."""
        for batch in self._batches:
            if batch.evaluation is not None:
                batch.evaluation.exception()  # waits, because the thread may still be writing
                batch.evaluation = None
        trees = {
            int(tree) for batch in self._batches for tree in batch.tree_batch.slots["tree"][: batch.slots]
        }
        for batch in self._batches:
            batch.slots = 0
        self._empty(trees)

    def _empty(self, trees: Iterable[int]) -> None:
        """Reduce trees to their roots; none of their leaves is in flight."""
        for t in trees:
            history = self.tree_batch.history[t, : self.tree_batch.info[t]["history_length"]].copy()
            self.set_root(t, as_state(self.root(t)["state"]), history)

    def _no_edge_error(self) -> ValueError:
        """Drop all leaves in flight and empty all trees, as one cannot be searched; return the error."""
        self.discard()
        self._empty(range(len(self.tree_batch.nodes)))
        return no_edge_error(self.evaluator)

    def close(self) -> None:
        """Stop the threads; the searcher cannot be used afterwards."""
        if self._threads is not None:
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
        if not expand_and_backup(batch.tree_batch, self.constants, batch.slots, batch.logits, batch.values):
            raise non_finite_error(self.evaluator)
        self.evaluations += batch.slots
        batch.slots = 0

    def run(self, visits: NDArray[np.int32]) -> None:
        """Search until every root has its visits or is proven, or its tree is full.

        Args:
            visits: `[T]`, see `step`.

        Raises:
            ValueError, Exception: see `step`.
        """
        while self.step(visits):
            pass

    @property
    def memory_nodes(self) -> int:
        """Capacity of a tree that takes its share of the memory."""
        return memory_nodes(self.game, value_bias=self.constants.corrects_values)

    def make_room(self, most: int) -> None:
        """Let the trees grow if they are nearly full, so that a search goes on; else do nothing.

        Args:
            most: largest capacity of a tree in nodes; a tree that has it does not grow.
        """
        self._use(grown(self.tree_batch, self.game, most, self._reserved))

    def reserve(self, most: int) -> None:
        """Reserve memory in which a single tree that is still empty grows without being copied.

        The system gives the memory when it is first used. Where it refuses so much, as on machines that do
        not overcommit, and with several trees, this does nothing.

        Args:
            most: as for `make_room`.
        """
        trees, capacity = self.tree_batch.nodes.shape
        if trees > 1 or capacity >= most:
            return
        with suppress(OSError, MemoryError):
            value_bias = self.constants.corrects_values
            self._reserved = allocate_trees(self.game, 1, most, 0, value_bias=value_bias)
            self._use(part_of(self._reserved, self.game, capacity))

    def _use(self, memory: TreeBatch) -> None:
        """Take what grows with the nodes from other arrays."""
        if memory.nodes is self.tree_batch.nodes:
            return
        room = {name: getattr(memory, name) for name in GROWING}
        self.tree_batch = self.tree_batch._replace(**room)
        for batch in self._batches:
            batch.tree_batch = batch.tree_batch._replace(**room)

    def play(self, t: int, action: int) -> None:
        """Play an action at the root of tree `t` and keep the subtree; leaves in flight are backed up first.

        Raises:
            ValueError: the action is not legal there; the tree is unchanged.
        """
        self.flush()
        if not play_root_action(self.game, self.tree_batch, t, action):
            raise ValueError(f"action {action} is not legal at the root of tree {t}")

    def contest(self, t: int) -> Contest:
        """Compare the actions at the root of tree `t`, which is expanded and not proven."""
        root = self.root(t)
        first = int(root["first_edge"])
        return contest(self.tree_batch.edges[t, first : first + int(root["num_edges"])])

    def best(self, t: int) -> int:
        """Return the action to play in tree `t`, see `ckai.rl.search.mcts.best_root_edge`."""
        action: int = best_action(self.tree_batch, t)
        return action

    def root(self, t: int) -> Any:
        """Return the NODE record of the root of tree `t`, as a view."""
        return self.tree_batch.nodes[t, 0]
