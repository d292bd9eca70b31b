"""Searches over many positions at once, from Python: a forest, a game and an evaluator."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.models.inference import Evaluator
from ckai.rl.batch import best_label, follow, gather_all, plant_root, scatter
from ckai.rl.checkers import Checkers
from ckai.rl.forest import Forest, plant
from ckai.rl.select import Puct


class Searcher:
    """T searches side by side, each in its own tree, one network call for all their leaves."""

    def __init__(
        self,
        evaluator: Evaluator,
        *,
        trees: int = 1,
        nodes: int = 1024,
        leaves: int = 1,
        puct: Puct | None = None,
        game: Any = None,
        seed: int = 0,
    ) -> None:
        """Plant the trees.

        Args:
            evaluator: judges the leaves.
            trees: T.
            nodes: most nodes of a tree; a search that needs more stops there.
            leaves: leaves of one tree in a batch (above 1, virtual loss spreads them).
            puct: constants of the search.
            game: its rules (see `ckai.rl.game_api`); checkers if None.
            seed: of the noise at the roots.
        """
        self.evaluator = evaluator
        rules: Any = Checkers() if game is None else game
        self.game = rules
        self.puct = puct or Puct()
        self.leaves = leaves
        past = getattr(rules, "quiet_limit", 0) + 2
        self.forest: Forest = plant(trees, nodes, leaves, rules.BYTES, past)
        self.forest.info["rng"] = np.random.SeedSequence(seed).generate_state(trees, np.uint64)
        batch = trees * leaves
        self._logits = np.zeros((batch, rules.LABELS), np.float32)
        self._values = np.zeros(batch, np.float32)

    def set_root(self, t: int, state: tuple[int, int], past: NDArray[np.int64] | None = None) -> None:
        """Set tree `t` to a state, after the states whose keys are `past` (`[n, 2]`, oldest first)."""
        keys = np.zeros((0, 2), np.int64) if past is None else past
        plant_root(self.game, self.forest, t, (np.int64(state[0]), np.int64(state[1])), keys)

    def step(self, visits: NDArray[np.int32]) -> int:
        """One batch: fill, judge, back up. `visits` `[T]`: what each root wants. Returns the leaves."""
        slots: int = gather_all(self.game, self.forest, self.puct, visits, self.leaves)
        if slots:
            logits, values = self._logits[:slots], self._values[:slots]
            self.evaluator.evaluate(self.forest.boards[:slots], logits, values)
            scatter(self.forest, slots, logits, values)
        return slots

    def run(self, visits: NDArray[np.int32]) -> int:
        """Search until every root has its visits, is proven, or its tree is full. Returns leaves judged."""
        judged = 0
        while slots := self.step(visits):
            judged += slots
        return judged

    def play(self, t: int, label: int) -> None:
        """Play a label in tree `t`, keeping what was searched below it.

        Raises:
            ValueError: if it is not legal there.
        """
        if not follow(self.game, self.forest, t, label):
            raise ValueError(f"label {label} is not legal at the root of tree {t}")

    def best(self, t: int) -> int:
        """The label to play in tree `t`."""
        label: int = best_label(self.forest, t)
        return label

    def root(self, t: int) -> Any:
        """The root's NODE record of tree `t`."""
        return self.forest.nodes[t, 0]
