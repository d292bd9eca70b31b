"""Sizes of batches under a time limit follow the latency of the evaluator."""

from ckai.game import Position
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.search.batch_sizing import SIZES, BatchSizer


def test_the_size_is_the_best_of_all():
    overhead_positions, visits = 20.0, 500
    worth = {n: n * (1 - n / (2 * visits)) / (overhead_positions + n) for n in range(1, visits)}
    best = max(worth, key=worth.get)
    chosen = BatchSizer(overhead_positions).leaves(visits)
    assert chosen <= best < SIZES[SIZES.index(chosen) + 1]


def test_results_under_a_limit_of_visits_do_not_depend_on_what_was_before():
    with TreeEngine(UniformEvaluator(), nodes=20_000) as engine:
        first = engine.search(Position.start(), sims=400)
        engine.search(Position.start(), seconds=0.02)
        engine.new_game()
        again = engine.search(Position.start(), sims=400)
    assert first.visits == again.visits
