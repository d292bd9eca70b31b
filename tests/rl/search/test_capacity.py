"""Trees without a given capacity: as large as the memory allows, and full trees."""

import pytest

from ckai.game import Position
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import StopReason
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.loading import load_evaluator

START = Position.start()


@pytest.mark.parametrize("source", ["uniform", "rollout"])
def test_the_tree_of_an_engine_is_large_unless_its_size_is_given(source):
    evaluator = load_evaluator(source)
    with TreeEngine(evaluator) as free, TreeEngine(evaluator, nodes=10_000) as large:
        results = [engine.search(START, Limit(visits=4000)) for engine in (free, large)]
        assert results[0].visits == results[1].visits
        assert results[0].reason == StopReason.VISITS
    with TreeEngine(load_evaluator(source), nodes=400) as fixed:
        assert fixed.search(START, Limit(visits=4000)).reason == StopReason.FULL
