"""Searches over many positions at once, from Python: a tree_batch, a game and an evaluator."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.models.inference.devices import use_one_torch_thread
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.calling import evaluate_into, non_finite_error
from ckai.rl.games.contract import State, as_state
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.search.arrays import TreeBatch, allocate_trees
from ckai.rl.search.batch import (
    best_action,
    expand_and_backup,
    play_root_action,
    select_all_leaves,
    set_root_state,
)
from ckai.rl.search.selection import SearchConstants


class _Batch:
    """Leaves on their way to the network: a part of the tree_batch's slots, and the answers."""

    def __init__(self, tree_batch: TreeBatch, first: int, size: int, actions: int) -> None:
        part = slice(first, first + size)
        self.tree_batch = tree_batch._replace(slots=tree_batch.slots[part], boards=tree_batch.boards[part])
        self.logits, self.values = np.zeros((size, actions), np.float32), np.zeros(size, np.float32)
        self.slots = 0
        """Leaves in flight."""
        self.answer: Future[None] | None = None
        """None if they were evaluated in this thread."""


class Searcher:
    """T searches side by side, each in its own tree, one network call for all their leaves."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        trees: int = 1,
        nodes: int = 1024,
        leaves: int = 1,
        growth: int = 0,
        batches: int = 1,
        constants: SearchConstants | None = None,
        game: Any = None,
        seed: int = 0,
    ) -> None:
        """Plant the trees.

        Args:
            evaluator: evaluates the leaves.
            trees: T.
            nodes: most nodes of a tree; a search that needs more stops there.
            leaves: most leaves of one tree in a batch (above 1, virtual loss spreads them).
            growth: visits at the root for each leaf of a batch, so that few visits go in small batches; 0:
                `leaves` at once from the beginning.
            batches: batches in flight. Above 1 each is evaluated in a thread of its own while the next
                ones are filled. They land in the order they left: what is found does not depend on the threads.
            constants: constants of the search.
            game: its rules (see `ckai.rl.games.contract`); checkers if None.
            seed: of the noise at the roots.
        """
        self.evaluator = evaluator
        rules: Any = DEFAULT_GAME.rules if game is None else game
        self.game = rules
        self.constants = constants or SearchConstants()
        self.leaves = leaves
        self.growth = growth
        self.tree_batch: TreeBatch = allocate_trees(rules, trees, nodes, leaves * batches)
        self.tree_batch.info["rng"] = np.random.SeedSequence(seed).generate_state(trees, np.uint64)
        size = trees * leaves
        self._batches = deque(
            _Batch(self.tree_batch, n * size, size, rules.NUM_ACTIONS) for n in range(batches)
        )
        self._threads = ThreadPoolExecutor(batches, initializer=use_one_torch_thread) if batches > 1 else None
        self.evaluations = 0
        """Positions evaluated and backed up so far, of all trees."""

    @property
    def in_flight(self) -> int:
        """Leaves that wait for their evaluation, of all trees."""
        return sum(batch.slots for batch in self._batches)

    def set_root(self, t: int, state: State, past: NDArray[np.int64] | None = None) -> None:
        """Set tree `t` to a state, after the states whose keys are `past` (`[n, 2]`, oldest first)."""
        self.flush()
        words = tuple(np.int64(word) for word in state)
        keys = np.zeros((0, len(words)), np.int64) if past is None else past
        set_root_state(self.game, self.tree_batch, t, words, keys)

    def step(self, visits: NDArray[np.int32]) -> int:
        """Back the oldest batch up and send the next. `visits` `[T]`: what each root wants.

        Returns:
            The leaves in flight, those in batches sent before too; 0 once there is nothing more to do.

        Raises:
            Exception: whatever the evaluator raised, and ValueError if its answer has the wrong shape or is no number. The
                searches of all trees are then left with leaves in flight: call `discard`.
        """
        batch = self._batches.popleft()
        self._batches.append(batch)
        self._flush(batch)
        batch.slots = int(
            select_all_leaves(self.game, batch.tree_batch, self.constants, visits, self.leaves, self.growth)
        )
        if batch.slots and self._threads:
            batch.answer = self._threads.submit(self._evaluate, batch)
        elif batch.slots:
            self._evaluate(batch)
        return self.in_flight

    def flush(self) -> None:
        """Back up all that is in flight."""
        for batch in self._batches:
            self._flush(batch)

    def discard(self) -> None:
        """Drop all that is in flight, as after an error; trees it came from begin again at their roots."""
        for batch in self._batches:
            if batch.answer is not None:
                batch.answer.exception()  # wait: it may still be writing
                batch.answer = None
        trees = {
            int(tree) for batch in self._batches for tree in batch.tree_batch.slots["tree"][: batch.slots]
        }
        for batch in self._batches:
            batch.slots = 0
        for t in trees:
            past = self.tree_batch.history[t, : self.tree_batch.info[t]["history_length"]].copy()
            self.set_root(t, as_state(self.root(t)["state"]), past)

    def close(self) -> None:
        """End the threads; the searcher is not used afterwards."""
        if self._threads is not None:
            self._threads.shutdown()

    def _evaluate(self, batch: _Batch) -> None:
        n = batch.slots
        evaluate_into(self.evaluator, batch.tree_batch.boards[:n], batch.logits[:n], batch.values[:n])

    def _flush(self, batch: _Batch) -> None:
        if not batch.slots:
            return
        if batch.answer is not None:
            batch.answer.result()
            batch.answer = None
        if expand_and_backup(batch.tree_batch, batch.slots, batch.logits, batch.values) >= 0:
            raise non_finite_error(self.evaluator)
        self.evaluations += batch.slots
        batch.slots = 0

    def run(self, visits: NDArray[np.int32]) -> None:
        """Search until every root has its visits, is proven, or its tree is full."""
        while self.step(visits):
            pass

    def play(self, t: int, action: int) -> None:
        """Play an action in tree `t`, keeping what was searched below it.

        Raises:
            ValueError: if it is not legal there.
        """
        self.flush()
        if not play_root_action(self.game, self.tree_batch, t, action):
            raise ValueError(f"action {action} is not legal at the root of tree {t}")

    def best(self, t: int) -> int:
        """The action to play in tree `t`."""
        action: int = best_action(self.tree_batch, t)
        return action

    def root(self, t: int) -> Any:
        """The root's NODE record of tree `t`."""
        return self.tree_batch.nodes[t, 0]
