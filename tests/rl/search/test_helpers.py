"""Searches by time: several threads, each with a batch of its own, of a size that follows the latency."""

import threading
import time
from collections import Counter
from contextlib import closing

import numpy as np
import pytest

from ckai.game import Position
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.checkers import pack
from ckai.rl.search.searcher import SIZES, BatchSizer, Searcher

ENDLESS = np.array([np.iinfo(np.int32).max], np.int32)


class Watched(UniformEvaluator):
    """An evaluator that says which thread called it, and may fail in any but this one."""

    def __init__(self):
        super().__init__()
        self.positions, self.answer = Counter(), None  # positions evaluated, by thread
        self.caller = threading.get_ident()

    def evaluate(self, boards, out_logits=None, out_values=None):
        time.sleep(0.001)
        self.positions[threading.get_ident()] += len(boards)
        logits, values = super().evaluate(boards, out_logits, out_values)
        if self.answer is not None and threading.get_ident() != self.caller:
            values[:] = self.answer()
        return logits, values


@pytest.fixture
def watched():
    return Watched()


@pytest.fixture
def found(watched):
    """A search by time in which both threads are at work."""
    found = Searcher(watched, nodes=100_000, leaves=64, batches=3)
    found.set_root(0, pack(Position.start()))
    found.batch_sizer = BatchSizer(20.0)
    with closing(found):
        while len(watched.positions) < 2:
            found.step(ENDLESS)
        yield found


def go_on(found, pause=0.0):
    """Search until there is an error; when the other thread has its turn depends on the system."""
    while True:
        found.step(ENDLESS)
        if pause:
            time.sleep(pause)
            found.flush()


def fail():
    raise RuntimeError("mine")


@pytest.mark.parametrize(("answer", "error"), [(fail, "mine"), (lambda: np.nan, "finite")])
@pytest.mark.parametrize("ending", ["step", "flush"])
def test_an_error_in_another_thread_is_raised_in_the_callers(found, watched, answer, error, ending):
    watched.answer = answer
    with pytest.raises((RuntimeError, ValueError), match=error):
        go_on(found, pause=0.01 if ending == "flush" else 0.0)
    found.discard()
    found.set_root(0, pack(Position.start()))
    assert found.in_flight == found.root(0)["visits"] == 0
    watched.answer = None
    for _ in range(50):
        found.step(ENDLESS)
    assert found.root(0)["visits"] > 50


def test_the_size_is_the_best_of_all():
    overhead_positions, visits = 20.0, 500
    worth = {n: n * (1 - n / (2 * visits)) / (overhead_positions + n) for n in range(1, visits)}
    best = max(worth, key=worth.get)
    chosen = BatchSizer(overhead_positions).leaves(visits)
    assert chosen <= best < SIZES[SIZES.index(chosen) + 1]
