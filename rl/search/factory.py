"""Creates the searcher that suits an evaluator."""

from typing import Any

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.search.playout_search import ROLLOUT_CONSTANTS, RolloutSearcher
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import SearchConstants


def make_searcher(
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
) -> Searcher:
    """Return the searcher that suits an evaluator.

    Args:
        evaluator: evaluates the leaves. For a `RolloutEvaluator` of one playout this is a `RolloutSearcher`,
            which runs the playouts itself; `leaves`, `growth`, `batches` and `seed` then have no effect.
        trees, nodes, leaves, growth, batches, constants, game, seed: see `Searcher`.
    """
    if isinstance(evaluator, RolloutEvaluator) and evaluator.playouts == 1:
        return RolloutSearcher(
            trees=trees,
            nodes=nodes,
            constants=constants or ROLLOUT_CONSTANTS,
            game=game,
            seed=int(evaluator.seed),
        )
    return Searcher(
        evaluator,
        trees=trees,
        nodes=nodes,
        leaves=leaves,
        growth=growth,
        batches=batches,
        constants=constants,
        game=game,
        seed=seed,
    )
