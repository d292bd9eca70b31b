"""Batches are padded to fixed sizes and wait for a free lane; what else runs does not change the results."""

import itertools
import threading
import time
from queue import SimpleQueue

import numpy as np
import pytest

from ckai.models.inference.fixed_batches import MAX_BATCH, SIZES, FixedBatchEvaluator, fixed_size
from ckai.models.inputs.encodings import PlanesEncoding, TacticsEncoding


class SumLane:
    """A device that takes its time: values are sums of the rows, and logits the value plus the action."""

    def __init__(self, width=34, seconds=0.0, log=None):
        self.rows = np.zeros((MAX_BATCH, width), np.int8)
        self.logits, self.values = np.zeros((MAX_BATCH, 128), np.float32), np.zeros(MAX_BATCH, np.float32)
        self.seconds, self.log = seconds, [] if log is None else log
        self.sizes, self.worker = [], None

    def start(self, size):
        assert self.worker is None, "two callers use one lane"
        self.sizes.append(size)
        self.log.append(1)
        self.logits[:], self.values[:] = np.nan, np.nan
        self.worker = threading.Thread(target=self.run, args=(size,))
        self.worker.start()

    def run(self, size):
        time.sleep(self.seconds)
        self.values[:size] = self.rows[:size].sum(1, dtype=np.float32)
        self.logits[:size] = self.values[:size, None] + np.arange(128, dtype=np.float32)
        self.log.append(-1)

    def wait(self):
        self.worker.join()
        self.worker = None


def turns(lanes):
    queue = SimpleQueue()
    for lane in range(lanes):
        queue.put(lane)
    return queue


def evaluator(lanes, encoding=None):
    return FixedBatchEvaluator("sums", encoding or PlanesEncoding(), lanes, turns(len(lanes)))


def boards(size, seed=0):
    return np.random.default_rng(seed).integers(-3, 4, (size, 34), np.int8)


@pytest.mark.parametrize(
    ("number", "size"),
    [(1, 16), (16, 16), (17, 32), (128, 128), (129, 192), (257, 384), (MAX_BATCH, MAX_BATCH)],
)
def test_a_batch_takes_the_next_fixed_size(number, size):
    assert fixed_size(number) == size


def test_the_sizes_ascend_and_waste_little():
    assert list(SIZES) == sorted(set(SIZES))
    assert all(after <= 2 * before for before, after in itertools.pairwise(SIZES))
    assert all(after <= 1.5 * before for before, after in itertools.pairwise(SIZES) if before > 64)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 300, MAX_BATCH, MAX_BATCH + 1, 2 * MAX_BATCH + 5])
def test_every_row_has_its_own_result(size):
    lane, rows = SumLane(), boards(size)
    logits, values = evaluator([lane]).evaluate(rows)
    np.testing.assert_array_equal(values, rows.sum(1, dtype=np.float32))
    np.testing.assert_array_equal(logits, values[:, None] + np.arange(128))
    assert set(lane.sizes) <= set(SIZES)
    assert len(lane.sizes) == -(-size // MAX_BATCH)


def test_a_smaller_batch_after_a_larger_one_is_its_own():
    mine = evaluator([SumLane()])
    mine.evaluate(boards(200))
    rows = boards(3, seed=1)
    np.testing.assert_array_equal(mine.evaluate(rows)[1], rows.sum(1, dtype=np.float32))


def test_results_are_written_where_asked_and_nothing_is_evaluated_for_nothing():
    lane = SumLane()
    mine = evaluator([lane])
    logits, values = np.empty((5, 128), np.float32), np.empty(5, np.float32)
    found = mine.evaluate(boards(10)[::2], logits, values)  # not contiguous
    assert found[0] is logits
    assert found[1] is values
    np.testing.assert_array_equal(values, boards(10)[::2].sum(1, dtype=np.float32))
    assert mine.evaluate(boards(0))[0].shape == (0, 128)
    assert lane.sizes == [16]
    with pytest.raises(ValueError, match="expected boards int8"):
        mine.evaluate(np.zeros((2, 32), np.int8))


def test_the_bytes_that_only_the_cpu_computes_come_along():
    encoding = TacticsEncoding()
    lane = SumLane(34 + encoding.EXTRA)
    rows = encoding.sample(20, np.random.default_rng(0))
    evaluator([lane], encoding).evaluate(rows)
    assert np.array_equal(lane.rows[:20, :34], rows)
    assert lane.rows[:20, 34:].any()
    assert not lane.rows[20:].any()


def test_as_many_batches_are_in_flight_as_there_are_lanes():
    log, errors = [], []
    lanes = [SumLane(seconds=0.01, log=log) for _ in range(2)]
    mine = evaluator(lanes)

    def call(seed):
        for n in range(6):
            rows = boards(10 + 50 * seed + n, seed)
            if not np.array_equal(mine.evaluate(rows)[1], rows.sum(1, dtype=np.float32)):
                errors.append((seed, n))

    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert np.cumsum(log).max() == 2
    assert all(len(lane.sizes) > 5 for lane in lanes)


def test_evaluators_of_one_device_share_its_lanes():
    log, shared = [], turns(1)
    lanes = [SumLane(seconds=0.01, log=log) for _ in range(2)]
    both = [FixedBatchEvaluator("sums", PlanesEncoding(), [lane], shared) for lane in lanes]
    threads = [threading.Thread(target=each.evaluate, args=(boards(4),)) for each in both * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.cumsum(log).max() == 1


def test_an_error_gives_the_lane_back():
    class Breaks(SumLane):
        def start(self, size):
            if not self.sizes:
                self.sizes.append(size)
                raise RuntimeError("no such kernel")
            super().start(size)

    mine = evaluator([Breaks()])
    with pytest.raises(RuntimeError, match="no such kernel"):
        mine.evaluate(boards(3))
    assert mine.evaluate(boards(3))[1].shape == (3,)
