"""Creates the searcher of engines and players, which keep their trees from move to move."""

from typing import Any

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.search.batch_sizing import BatchSizer
from ckai.rl.search.inline_search import InlineSearcher, runs_inline
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import GUMBEL, SearchConstants


def measured_batch_sizer(evaluator: Evaluator, game: Any) -> BatchSizer:
    """Return the batch sizes that suit an evaluator, measured if searches with it use batches.

    Args:
        evaluator: see `make_searcher`.
        game: the rules, see `ckai.rl.games.contract`.
    """
    return BatchSizer(1.0) if runs_inline(evaluator) else BatchSizer.measure(evaluator, game)


def make_searcher(
    evaluator: Evaluator,
    *,
    trees: int = 1,
    nodes: int = 1024,
    leaves: int = 1,
    visits_per_leaf: int = 0,
    batches: int = 1,
    threads: int | None = None,
    constants: SearchConstants | None = None,
    game: Any = None,
    seed: int = 0,
) -> Searcher:
    """Return the searcher that suits an evaluator.

    Args:
        evaluator: evaluates the leaves. For some this is an `InlineSearcher`, see `runs_inline`; `leaves`,
            `visits_per_leaf`, `batches` and `threads` then have no effect. The seed of a `RolloutEvaluator`
            takes precedence.
        trees, nodes, leaves, visits_per_leaf, batches, threads, constants, game, seed: see `Searcher`.

    Raises:
        ValueError: `constants` have the root rule GUMBEL, which needs a fresh tree for each move.
    """
    if constants is not None and constants.root_rule == GUMBEL:
        raise ValueError("expected the root rule puct, found gumbel, which is for self-play alone")
    if runs_inline(evaluator):
        if isinstance(evaluator, RolloutEvaluator):
            seed = int(evaluator.seed)
        return InlineSearcher(evaluator, trees=trees, nodes=nodes, constants=constants, game=game, seed=seed)
    return Searcher(
        evaluator,
        trees=trees,
        nodes=nodes,
        leaves=leaves,
        visits_per_leaf=visits_per_leaf,
        batches=batches,
        threads=threads,
        constants=constants,
        game=game,
        seed=seed,
    )
