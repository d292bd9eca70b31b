"""Sizes of batches under a time limit follow the latency of the evaluator."""

import time

import numpy as np
import pytest

from ckai.game import Position
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.checkers import pack
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.search.batch_sizing import SIZES, BatchSizer
from ckai.rl.search.searcher import Searcher


class Clocked(UniformEvaluator):
    """An evaluator whose calls move a clock of its own: so long for a call, and so long for a position."""

    def __init__(self, overhead, cost):
        super().__init__()
        self.overhead, self.cost, self.now, self.sizes = overhead, cost, 0.0, []

    def evaluate(self, boards, out_logits=None, out_values=None):
        self.now += self.overhead + self.cost * len(boards)
        self.sizes.append(len(boards))
        return super().evaluate(boards, out_logits, out_values)


@pytest.mark.parametrize("overhead_positions", [0.5, 5.0, 40.0])
def test_sizes_grow_with_the_tree_and_not_beyond_it(overhead_positions):
    batch_sizer = BatchSizer(overhead_positions)
    sizes = [batch_sizer.leaves(visits) for visits in (0, 1, 10, 100, 1000, 10_000, 1_000_000)]
    assert sizes == sorted(sizes)
    assert sizes[0] == sizes[1] == 1
    assert sizes[2] <= 10
    assert set(sizes) <= set(SIZES)


def test_the_size_is_the_best_of_all():
    overhead_positions, visits = 20.0, 500
    worth = {n: n * (1 - n / (2 * visits)) / (overhead_positions + n) for n in range(1, visits)}
    best = max(worth, key=worth.get)
    chosen = BatchSizer(overhead_positions).leaves(visits)
    assert chosen <= best < SIZES[SIZES.index(chosen) + 1]


def test_the_latency_of_the_longest_call():
    batch_sizer = BatchSizer(10.0, cost=50e-6)
    assert batch_sizer.max_latency(64) == pytest.approx(74 * 50e-6)
    assert batch_sizer.max_latency(10_000) == pytest.approx((10 + SIZES[-1]) * 50e-6)


def test_a_costly_call_makes_large_batches():
    assert BatchSizer(40.0).leaves(200) > BatchSizer(2.0).leaves(200)


@pytest.mark.parametrize(("overhead", "cost"), [(1.0, 0.1), (0.0, 1.0), (3.0, 0.05)])
def test_the_latency_is_measured(monkeypatch, overhead, cost):
    evaluator = Clocked(overhead, cost)
    monkeypatch.setattr(time, "perf_counter", lambda: evaluator.now)
    batch_sizer = BatchSizer.measure(evaluator, DEFAULT_GAME.rules)
    assert batch_sizer.overhead_positions == pytest.approx(max(overhead / cost, 0.1), rel=1e-3)


def test_only_searches_by_time_size_their_batches():
    for limit, sized in ((Limit(visits=300), False), (Limit(seconds=0.05), True)):
        evaluator = Clocked(1.0, 0.1)
        with TreeEngine(evaluator, nodes=5000, batches=1) as engine:
            engine.search(Position.start(), limit)
            assert (engine._searcher.batch_sizer is not None) == sized
        if not sized:
            assert max(evaluator.sizes) <= 300 // 32


def test_a_batch_is_as_large_as_the_pacing_says():
    evaluator, visits = Clocked(1.0, 0.1), np.array([1000], np.int32)
    searcher = Searcher(evaluator, nodes=5000, leaves=256, visits_per_leaf=32)
    searcher.set_root(0, pack(Position.start()))
    searcher.run(visits)
    assert max(evaluator.sizes) <= 1000 // 32
    searcher.batch_sizer = BatchSizer(20.0)
    searcher.step(visits * 4)
    assert 1000 // 32 < evaluator.sizes[-1] <= searcher.batch_sizer.leaves(1000)


def test_results_under_a_limit_of_visits_do_not_depend_on_what_was_before():
    with TreeEngine(UniformEvaluator(), nodes=20_000) as engine:
        first = engine.search(Position.start(), sims=400)
        engine.search(Position.start(), seconds=0.02)
        engine.new_game()
        again = engine.search(Position.start(), sims=400)
    assert first.visits == again.visits
