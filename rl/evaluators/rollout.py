"""Evaluators without a network: equal priors and value 0, or random playouts."""

from ckai.models.inference.evaluator import Boards, Evaluator, Floats
from ckai.rl.games.registry import DEFAULT_GAME


class UniformEvaluator(Evaluator):
    """Evaluates every position as logits of 0 and a value of 0."""

    name = "uniform"

    def __init__(self, num_actions: int = DEFAULT_GAME.num_actions) -> None:
        self.num_actions = num_actions

    def _fill(self, boards: Boards, logits: Floats, values: Floats) -> None:
        logits[:] = values[:] = 0.0


class RolloutEvaluator(UniformEvaluator):
    """Stands for random playouts: a `Searcher` plays one from every leaf. Alone it knows no value."""

    name = "rollout"
