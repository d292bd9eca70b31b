"""Searches on the opponent's time, which give way to the next search and leave it their tree."""

import threading

import pytest

from ckai.game import Game, Position
from ckai.rl.engine.limit import EngineError, Limit
from ckai.rl.engine.result import StopReason
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.search.batch_sizing import BatchSizer

START = Position.start()
WAIT = 60
"""Seconds that no test takes."""


def engine_of(evaluator, **settings):
    """An engine that does not call its evaluator before a search."""
    engine = Engine(evaluator, **settings)
    engine._batch_sizer = BatchSizer(4.0)
    return engine


class Counted(UniformEvaluator):
    """Says when it has evaluated so many positions; fails at call `fails`, if that is not 0."""

    def __init__(self, enough=300):
        super().__init__()
        self.enough, self.count, self.calls, self.fails = enough, 0, 0, 0
        self.reached = threading.Event()

    def evaluate(self, boards, out_logits=None, out_values=None):
        self.calls += 1
        self.count += len(boards)
        if self.count >= self.enough:
            self.reached.set()
        if self.calls == self.fails:
            self.reached.set()
            raise OSError("the device is gone")
        return super().evaluate(boards, out_logits, out_values)

    def wait(self):
        assert self.reached.wait(WAIT)


def pondering_threads():
    return [thread for thread in threading.enumerate() if thread.name == "ckai-analysis"]


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = threading.active_count()
    yield
    assert not pondering_threads()
    assert threading.active_count() == before


def test_the_next_search_takes_the_tree_below_the_reply():
    with engine_of(Counted()) as engine:
        game = Game()
        game.push(engine.search(game.position, Limit(visits=100)).move)
        pondering = engine.ponder(game.position, history=game.history)
        engine.evaluator.wait()
        game.push("24-20")
        result = engine.search(game.position, Limit(visits=1), history=game.history)
        assert not pondering_threads()
        assert result.sims > 1
        assert result.evaluations <= 1
        last = pondering.wait()
        assert last.reason == StopReason.STOPPED
        assert last.visits["24-20"] == result.sims - 1
        # What is searched on is that tree.
        more = engine.search(game.position, Limit(visits=50), history=game.history)
        assert more.evaluations <= 50 < more.sims


def test_the_expected_reply_may_be_searched_at_once():
    with engine_of(Counted()) as engine:
        expected = START.push("11-15").push("24-20")
        pondering = engine.ponder(expected)
        engine.evaluator.wait()
        result = engine.search(expected, Limit(visits=1))
        assert result.sims - 1 == pondering.wait().sims > 1
        # Another reply: an empty tree.
        engine.ponder(expected).stop()
        other = START.push("11-15").push("22-18")
        assert engine.search(other, Limit(visits=7)).sims == 7


def test_playouts_ponder_too():
    with Engine(RolloutEvaluator()) as engine:
        pondering = engine.ponder(START)
        first = next(pondering)
        result = engine.search(START.push(first.move), Limit(visits=1))
        assert result.sims >= first.visits[first.move] > 1


def test_pondering_is_read_and_stopped_like_an_analysis():
    with engine_of(Counted()) as engine:
        with engine.ponder(START, multipv=2, interval=0) as pondering:
            for result in pondering:
                assert len(result.lines) == 2
                if result.sims > 200:
                    break
        assert pondering.wait().reason == StopReason.STOPPED
        pondering = engine.ponder(START)
        engine.stop()
        assert pondering.wait().reason == StopReason.STOPPED
        engine.stop()
        assert engine.search(START, sims=10_000).reason == StopReason.VISITS
        with pytest.raises(ValueError, match="interval >= 0"):
            engine.ponder(START, interval=-1)
        with pytest.raises(ValueError, match="no legal move"):
            engine.ponder("B:W18:B")


def test_it_gives_way_to_everything_but_a_search_does_not():
    with engine_of(Counted()) as engine:
        first = engine.ponder(START)
        second = engine.ponder(START)
        assert first.wait().reason == StopReason.STOPPED
        with engine.analysis(START) as analysis:
            assert second.wait().reason == StopReason.STOPPED
            with pytest.raises(EngineError, match="the engine is searching"):
                engine.ponder(START)
            next(analysis)
        engine.ponder(START)
        engine.forget()
        assert engine.search(START, sims=5).sims == 5


def test_a_position_that_is_proven_is_pondered_to_its_proof():
    with Engine.load("uniform") as engine:
        pondering = engine.ponder("W:WK18,K15:BK4")
        assert pondering.wait().reason == StopReason.PROVEN
        assert engine.search("W:WK18,K15:BK4").proven == "win"


@pytest.mark.parametrize("batches", [1, 2])
def test_closing_and_errors_leave_no_thread(batches):
    engine = engine_of(Counted(), batches=batches)
    pondering = engine.ponder(START)
    engine.evaluator.wait()
    engine.close()
    assert not pondering_threads()
    assert pondering.wait().reason == StopReason.STOPPED
    with pytest.raises(EngineError, match="closed"):
        engine.ponder(START)

    def interrupted():
        with engine_of(Counted(), batches=batches) as engine:
            engine.ponder(START)
            engine.evaluator.wait()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()


@pytest.mark.parametrize("batches", [1, 2])
def test_a_failure_while_pondering_does_not_spoil_the_next_search(batches):
    with engine_of(Counted(), batches=batches) as engine, Engine(UniformEvaluator(), batches=batches) as good:
        engine.evaluator.fails = 9
        pondering = engine.ponder(START)
        engine.evaluator.wait()
        assert engine.search(START, sims=500).visits == good.search(START, sims=500).visits
        with pytest.raises(OSError, match="the device is gone"):
            pondering.wait()
