"""Sizes of batches under a time limit follow the latency of the evaluator."""

from ckai.rl.search.batch_sizing import SIZES, BatchSizer


def test_the_size_is_the_best_of_all():
    overhead_positions, visits = 20.0, 500
    worth = {n: n * (1 - n / (2 * visits)) / (overhead_positions + n) for n in range(1, visits)}
    best = max(worth, key=worth.get)
    chosen = BatchSizer(overhead_positions).leaves(visits)
    assert chosen <= best < SIZES[SIZES.index(chosen) + 1]
