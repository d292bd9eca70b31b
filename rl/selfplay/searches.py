"""`Searches`: the trees that one thread of self-play searches, with one batch of leaves."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ckai.datasets.tables import Tables
from ckai.game.jit import compile_for
from ckai.models.inference.evaluator import Boards, Evaluator, Floats
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.evaluators.calling import evaluate_into, no_edge_error, non_finite_error
from ckai.rl.games.spec import GameSpec
from ckai.rl.search.arrays import allocate_trees
from ckai.rl.search.inline_search import InlineNetwork, evaluate_slots, inline_network
from ckai.rl.selfplay.recording import NO_EDGE, NOT_FINITE, Records, advance
from ckai.rl.selfplay.setup import play_rules, search_constants, search_rules

if TYPE_CHECKING:
    from ckai.rl.selfplay.config import SelfPlayConfig
    from ckai.rl.selfplay.progress import SelfPlayCounts


class Searches:
    """T searches at the same time, by one thread, whose leaves are evaluated in one batch.

    Attributes:
        records: what is recorded of each tree; for the subclass to allocate and to fill.
    """

    records: Records

    def __init__(
        self,
        evaluator: Evaluator,
        config: "SelfPlayConfig",
        spec: GameSpec,
        tables: Tables | None,
        trees: int,
        *,
        inline: bool = True,
    ) -> None:
        """Allocate the trees.

        Args:
            evaluator: evaluates the leaves.
            config: the settings.
            spec: the game.
            tables: tablebases; None: none.
            trees: T, number of trees.
            inline: whether an integer network is evaluated in the kernels.
        """
        self.spec = spec
        self.evaluator: Evaluator = evaluator
        self.inline: InlineNetwork | None = None
        if isinstance(self.evaluator, IntegerEvaluator) and inline:
            self.inline = inline_network(self.evaluator, spec.rules)
        self.game = search_rules(config, spec, tables)
        self.constants, self.rules = search_constants(config), play_rules(config)
        # Under GUMBEL the noise is what draws the action: without it all games would be one.
        self.fast = self.constants.without_exploration()._replace(gumbel_noise=self.constants.gumbel_noise)
        """Constants of searches that are not full."""
        self.tree_batch = allocate_trees(self.game, trees, config.tree_nodes, 1, transpositions=True)
        self.logits = np.zeros((trees, self.game.NUM_ACTIONS), np.float32)
        self.values = np.zeros(trees, np.float32)
        self._advance: Any = None
        self.slots: int = 0
        """Leaves in the batch."""
        self.simulations: int = 0
        """Simulations that `progress` has counted."""

    def evaluate(self, slots: int) -> None:
        """Evaluate the batch."""
        if self.inline is not None:
            evaluate_slots(self.inline, self.tree_batch, slots, self.logits, self.values)
            return
        self.evaluate_boards(self.tree_batch.boards[:slots], self.logits[:slots], self.values[:slots])

    def evaluate_boards(self, boards: Boards, logits: Floats, values: Floats) -> None:
        """Evaluate the positions in the first slots of the batch into these arrays."""
        evaluate_into(self.evaluator, boards, logits, values)

    def search(self, take_finished: Callable[[], None], progress: "SelfPlayCounts") -> bool:
        """Search until the next batch is full, and evaluate it.

        Args:
            take_finished: called if games are FINISHED, to take them and to start others in their trees.
            progress: counts that are increased.

        Returns:
            Whether any search is still in progress.

        Raises:
            ValueError: the evaluator answered with another shape, or with numbers that are not finite; or a
                tree has a node without an edge to follow.
        """
        arguments = (
            self.game,
            self.tree_batch,
            self.records,
            self.constants,
            self.fast,
            self.rules,
            self.slots,
            self.logits,
            self.values,
        )
        if self._advance is None:
            self._advance = compile_for(advance, *arguments)
        slots, finished, simulations = self._advance(*arguments)
        if slots == NOT_FINITE:
            raise non_finite_error(self.evaluator)
        if slots == NO_EDGE:
            raise no_edge_error(self.evaluator)
        self.slots = slots
        if finished:
            take_finished()
        if slots:
            self.evaluate(slots)
            progress.evaluations += slots
        progress.simulations += simulations - self.simulations
        self.simulations = simulations
        return bool(slots or finished)
