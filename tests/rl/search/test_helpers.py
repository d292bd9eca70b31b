"""Searches by time with several threads, each of which has a batch of its own."""

import threading
import time
from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_game import draw
from tree_search import drawings, edges, proof_of

from ckai.game import Position
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.checkers import pack
from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import PENDING
from ckai.rl.search.batch_sizing import BatchSizer
from ckai.rl.search.searcher import Searcher

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
    found = Searcher(watched, nodes=100_000, leaves=64, batches=3, threads=2)
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
    assert found.in_flight == found.root(0)["visits"] == 0
    watched.answer = None
    for _ in range(50):
        found.step(ENDLESS)
    assert found.root(0)["visits"] > 50


@settings(max_examples=40)
@given(drawings(), st.integers(1, 40), st.integers(1, 3), st.sampled_from([10, 50, 2000]))
def test_a_search_by_time_ends_with_the_result_and_nothing_in_flight(root, leaves, threads, nodes):
    if not root.children:
        return
    game, oracle, _ = draw(root)
    found = Searcher(oracle, nodes=nodes, leaves=leaves, batches=threads, game=game)
    found.set_root(0, (0, 0))
    found.batch_sizer = BatchSizer(100.0)
    with closing(found):
        while found.step(ENDLESS) and found.root(0)["visits"] < 500:
            pass
        found.flush()
        assert found.root(0)["proof"] in (proof_of(root), NONE)
        used = found.tree_batch.nodes[0, : found.tree_batch.info["nodes"][0]]
        assert not used["in_flight"].any()
        assert not ((used["status"] == PENDING) & (used["proof"] == NONE)).any()
        assert found.root(0)["visits"] == 1 + edges(found)["visits"].sum()
