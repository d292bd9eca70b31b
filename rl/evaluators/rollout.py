"""The rollout evaluator: values from random playouts."""

from ckai.rl.evaluators.uniform import UniformEvaluator

ROLLOUT = "rollout"
"""The name of the rollout evaluator."""


class RolloutEvaluator(UniformEvaluator):
    """Stands for random playouts: a `Searcher` plays one from every leaf. Alone it knows no value."""

    name = ROLLOUT
