"""Who plays: what judges positions, and how much of it a move may take."""

from dataclasses import dataclass
from typing import Any

from ckai.game.tables import Tables
from ckai.models.inference import Evaluator
from ckai.rl.checkers import Checkers
from ckai.rl.rollouts import ROLLOUT_PUCT, RolloutEvaluator, RolloutSearcher
from ckai.rl.searcher import Searcher
from ckai.rl.select import Puct


@dataclass(frozen=True)
class Player:
    """A player of matches; moves are chosen by visits, without noise or chance."""

    evaluator: Evaluator
    sims: int
    """Visits a move."""
    puct: Puct | None = None
    """Constants of the search; None: those that suit the evaluator."""
    tables: Tables | None = None
    """Endgames that it knows."""

    def searcher(self, trees: int) -> Searcher:
        """A search for so many games of checkers at once."""
        rules = Checkers().knowing(self.tables)
        return make_searcher(self.evaluator, trees=trees, nodes=self.sims + 3, puct=self.puct, game=rules)


def make_searcher(
    evaluator: Evaluator,
    *,
    trees: int = 1,
    nodes: int = 1024,
    leaves: int = 1,
    growth: int = 0,
    batches: int = 1,
    puct: Puct | None = None,
    game: Any = None,
    seed: int = 0,
) -> Searcher:
    """The search that suits an evaluator (see `Searcher`): playouts need no batches, and none are made."""
    if isinstance(evaluator, RolloutEvaluator) and evaluator.playouts == 1:
        return RolloutSearcher(
            trees=trees, nodes=nodes, puct=puct or ROLLOUT_PUCT, game=game, seed=int(evaluator.seed)
        )
    return Searcher(
        evaluator,
        trees=trees,
        nodes=nodes,
        leaves=leaves,
        growth=growth,
        batches=batches,
        puct=puct,
        game=game,
        seed=seed,
    )
