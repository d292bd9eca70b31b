"""Trees that grow: the search goes on as it would have in a larger one."""

import numpy as np
import pytest

from ckai.cli.playing.opponent import Reply
from ckai.game import Position
from ckai.rl.engine import engine as engine_module
from ckai.rl.engine.engine import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.result import StopReason
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.checkers import pack
from ckai.rl.players import search as players
from ckai.rl.search import arrays
from ckai.rl.search.arrays import memory_nodes, tree_batch_bytes
from ckai.rl.search.factory import make_searcher

START = Position.start()


@pytest.fixture
def small_reserve(monkeypatch):
    monkeypatch.setattr(arrays, "RESERVE", 300)


def tree(searcher):
    used = searcher.tree_batch.info[0]
    parts = searcher.tree_batch.nodes[0, : used["nodes"]], searcher.tree_batch.edges[0, : used["edges"]]
    return [part.tobytes() for part in parts]


@pytest.mark.parametrize("evaluator", [UniformEvaluator(), RolloutEvaluator()])
@pytest.mark.parametrize("settings", [{"leaves": 1}, {"leaves": 8, "batches": 2, "visits_per_leaf": 4}])
@pytest.mark.parametrize("reserved", [0, 2500, 6000])
def test_a_tree_that_grows_is_that_of_a_large_one(evaluator, settings, reserved, small_reserve):
    visits = np.array([3000], np.int32)
    large, growing = (make_searcher(evaluator, nodes=nodes, **settings) for nodes in (6000, 350))
    capacities = set()
    if reserved:
        growing.reserve(reserved)
    memory = growing.tree_batch.nodes.__array_interface__["data"][0]
    for searcher in (large, growing):
        searcher.set_root(0, pack(START))
    large.run(visits)
    while growing.step(visits):
        growing.make_room(6000)
        capacities.add(growing.tree_batch.nodes.shape[1])
    assert tree(growing) == tree(large)
    assert len(capacities) > 2
    assert max(capacities) <= 6000
    in_place = growing.tree_batch.nodes.__array_interface__["data"][0] == memory
    assert in_place == (reserved == 6000)
    # The tree is kept and searched on in the larger arrays.
    for searcher in (large, growing):
        searcher.play(0, large.best(0) if searcher is large else growing.best(0))
        searcher.run(visits)
    assert tree(growing) == tree(large)
    for searcher in (large, growing):
        searcher.close()


def test_trees_side_by_side_grow_together(small_reserve):
    searcher = make_searcher(UniformEvaluator(), trees=2, nodes=350)
    other = make_searcher(UniformEvaluator(), nodes=4000)
    searcher.set_root(0, pack(START))
    searcher.set_root(1, pack(START.push("11-15")))
    other.set_root(0, pack(START.push("11-15")))
    while searcher.step(np.array([20, 1500], np.int32)):
        searcher.make_room(4000)
    other.run(np.array([1500], np.int32))
    assert int(searcher.root(1)["visits"]) == 1500
    ours, theirs = searcher.tree_batch, other.tree_batch
    used = int(theirs.info[0]["nodes"])
    assert ours.nodes[1, :used].tobytes() == theirs.nodes[0, :used].tobytes()


def test_memory_that_is_refused_is_done_without(small_reserve, monkeypatch):
    searcher = make_searcher(UniformEvaluator(), nodes=350)

    def refuse(*arguments, **options):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr("ckai.rl.search.searcher.allocate_trees", refuse)
        searcher.reserve(1 << 40)
    searcher.set_root(0, pack(START))
    while searcher.step(np.array([1500], np.int32)):
        searcher.make_room(4000)
    assert int(searcher.root(0)["visits"]) == 1500


def test_a_tree_does_not_grow_beyond_its_bound(small_reserve):
    searcher = make_searcher(UniformEvaluator(), nodes=100)
    searcher.set_root(0, pack(START))
    for _ in range(2):
        searcher.make_room(500)
        searcher.run(np.array([5000], np.int32))
    assert searcher.tree_batch.nodes.shape[1] == 500
    assert int(searcher.tree_batch.info[0]["nodes"]) == 500


def test_the_bound_is_a_share_of_the_memory(monkeypatch):
    rules = players.DEFAULT_GAME.rules
    monkeypatch.setattr(arrays, "available_memory", lambda: 4 << 30)
    nodes = memory_nodes(rules)
    assert tree_batch_bytes(rules, 1, nodes, 1) == pytest.approx(1 << 30, rel=0.01)


@pytest.mark.parametrize("source", ["uniform", "rollout"])
def test_the_tree_of_an_engine_grows_unless_its_size_is_given(source, small_reserve, monkeypatch):
    monkeypatch.setattr(engine_module, "NODES", 400)
    with Engine.load(source) as growing, Engine.load(source, nodes=10_000) as large:
        results = [engine.search(START, Limit(visits=4000)) for engine in (growing, large)]
        assert results[0].visits == results[1].visits
        assert results[0].depth == results[1].depth
        assert results[0].reason == StopReason.VISITS
    with Engine.load(source, nodes=400) as fixed:
        assert fixed.search(START, Limit(visits=4000)).reason == StopReason.FULL


def test_a_search_in_a_full_tree_says_so():
    with Engine.load("uniform", nodes=50) as engine:
        result = engine.search(START, Limit(seconds=60))
        assert Reply(result.move, result).effort.endswith("; the tree is full, it searched no further")
        result = engine.search(START, Limit(visits=10))
        assert "full" not in Reply(result.move, result).effort
