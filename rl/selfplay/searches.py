"""`Searches`: the trees that one thread of self-play searches, with one batch of leaves."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ckai.datasets.symmetries import Symmetries
from ckai.datasets.tables import Tables
from ckai.game.jit import compile_for
from ckai.models.inference.evaluator import Boards, Evaluator, Floats
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.evaluators.cache import WAYS, CachedEvaluator
from ckai.rl.evaluators.calling import evaluate_into, no_edge_error, non_finite_error
from ckai.rl.evaluators.random_symmetries import RandomSymmetries
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
        seed: int,
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
            seed: of the symmetries of games, if the settings have them.
            inline: whether an integer network is evaluated in the kernels.
        """
        self.spec = spec
        self.evaluator: Evaluator = evaluator
        self.random_symmetries: RandomSymmetries | None = None
        if config.random_symmetries:
            self.random_symmetries = RandomSymmetries(Symmetries(spec.symmetries), seed)
        self.cache: CachedEvaluator | None = None
        if config.cache_positions:
            share = config.cache_positions // config.group_count
            self.evaluator = self.cache = CachedEvaluator(self.evaluator, max(WAYS, share), spec.rules)
        self.inline: InlineNetwork | None = None
        if isinstance(self.evaluator, IntegerEvaluator) and inline and self.random_symmetries is None:
            self.inline = inline_network(self.evaluator, spec.rules)
        self.game = search_rules(config, spec, tables)
        self.constants, self.rules = search_constants(config), play_rules(config)
        # Under GUMBEL the noise is what draws the action: without it all games would be one.
        self.fast = self.constants.without_exploration()._replace(gumbel_noise=self.constants.gumbel_noise)
        """Constants of searches that are not full."""
        self.tree_batch = allocate_trees(
            self.game,
            trees,
            config.tree_nodes,
            config.leaves,
            value_bias=self.constants.corrects_values,
            transpositions=True,
        )
        batch = trees * config.leaves
        self.logits, self.values = (
            np.zeros((batch, self.game.NUM_ACTIONS), np.float32),
            np.zeros(batch, np.float32),
        )
        self._advance: Any = None
        self.slots: int = 0
        """Leaves in the batch."""
        self.simulations: int = 0
        self.hits: int = 0
        """Simulations and cache hits that `progress` has counted."""

    def evaluate(self, slots: int) -> None:
        """Evaluate the batch."""
        if self.inline is not None:
            evaluate_slots(self.inline, self.tree_batch, slots, self.logits, self.values)
            return
        boards, logits, values = self.tree_batch.boards[:slots], self.logits[:slots], self.values[:slots]
        if self.random_symmetries is None:
            self.evaluate_boards(boards, logits, values)
            return
        games = self.records.games["game"][self.tree_batch.slots["tree"][:slots]]
        which = self.random_symmetries.drawn(games)
        self.evaluate_boards(self.random_symmetries.turned(boards, which), logits, values)
        self.random_symmetries.turn_back(logits, which)

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
            if self.cache:
                progress.cache_hits += self.cache.hits - self.hits
                self.hits = self.cache.hits
        progress.simulations += simulations - self.simulations
        self.simulations = simulations
        return bool(slots or finished)
