"""The engine's public face: limits and reasons, lines, values, analysis, stopping, closing, errors."""

import math
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from ckai.game import Position
from ckai.rl.engine import base
from ckai.rl.engine.base import Engine, MoveMap, StopReason
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.evaluators.rollout import UniformEvaluator

START = Position.start()
FOREVER = 60
"""Seconds that no test takes."""


@pytest.fixture
def engine():
    with Engine.load("uniform") as engine:
        yield engine


class Slow(UniformEvaluator):
    """Takes a moment for every call."""

    def evaluate(self, boards, out_logits=None, out_values=None):
        time.sleep(0.002)
        return super().evaluate(boards, out_logits, out_values)


# --- limits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ({"visits": 0}, "expected visits from 1 to 2,147,483,647, found 0"),
        ({"visits": 1.5}, "expected visits from 1"),
        ({"seconds": float("nan")}, "expected seconds > 0, found nan"),
        ({"clock": math.inf}, "a finite clock"),
        ({"clock": 60, "increment": -1}, "increment >= 0"),
        ({"increment": 1}, "expected a clock"),
    ],
)
def test_limits_out_of_range_are_refused(limit, message):
    with pytest.raises(ValueError, match=message):
        Limit(**limit)


def test_a_limit_is_given_one_way(engine):
    with pytest.raises(ValueError, match="found both"):
        engine.search(START, Limit(visits=10), sims=10)
    for begin in (engine.search, engine.analysis):
        with pytest.raises(TypeError, match=r"expected a Limit, such as Limit\(visits=400\), found 400"):
            begin(START, 400)


@pytest.mark.parametrize("evaluator", ["uniform", "rollout"])
@pytest.mark.parametrize("nodes", [1, 500])
def test_nodes_are_never_exceeded(evaluator, nodes):
    with Engine.load(evaluator) as engine:
        result = engine.search(START, Limit(nodes=nodes))
        assert (result.nodes, result.reason) == (nodes, StopReason.NODES)
        again = engine.search(START, Limit(nodes=nodes))  # in this search, the tree is kept
        assert (again.nodes, again.sims) == (nodes, 2 * nodes)


def test_visits_that_are_kept_count_unless_the_search_begins_anew(engine):
    first = engine.play(START)  # without a limit, 400
    assert first.nodes == first.sims == 400
    again = engine.search(START, sims=10)
    assert (again.sims, again.nodes, again.reason) == (400, 0, StopReason.VISITS)
    engine.new_game()
    anew = engine.search(START, sims=400)
    assert (anew.sims, anew.nodes, anew.visits) == (400, 400, first.visits)


def test_a_capture_of_several_hops_is_one_ply(engine):
    result = engine.search("B:W6,7,14,15,32:B2,21", Limit(visits=2))
    assert len(result.move.actions) == 2
    assert result.depth == 0  # the position between the hops
    assert engine.search("B:W6,7,14,15,32:B2,21", Limit(visits=40)).depth > 0


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        (Limit(visits=50, seconds=FOREVER, depth=100, nodes=10_000), StopReason.VISITS),
        (Limit(visits=10**9, seconds=0.05, depth=1000), StopReason.SECONDS),
        (Limit(visits=10**9, seconds=FOREVER, depth=3), StopReason.DEPTH),
        (Limit(visits=10**9, seconds=FOREVER, nodes=30), StopReason.NODES),
    ],
)
def test_the_first_limit_that_is_reached_ends_the_search(engine, limit, reason):
    assert engine.search(START, limit).reason == reason


def test_a_proof_and_a_full_tree_end_a_search_too(engine):
    result = engine.search("W:WK18,K15:BK4", Limit(seconds=FOREVER))
    assert (result.reason, result.proven) == (StopReason.PROVEN, "win")
    for evaluator in ("uniform", "rollout"):
        with TreeEngine(load_evaluator(evaluator), nodes=200) as small:
            result = small.search(START, Limit(seconds=FOREVER))
            assert (result.reason, result.nodes) == (StopReason.FULL, 200)


# --- results -------------------------------------------------------------------------------------------


def test_lines_are_ordered_and_begin_with_the_move(engine):
    result = engine.search(START, sims=2000, lines=4)
    assert len(result.lines) == 4
    assert result.lines[0].pv == result.pv
    assert result.lines[0].move == result.move == result.pv[0]
    assert len({line.move for line in result.lines}) == 4
    visits = [line.visits for line in result.lines]
    assert visits == sorted(visits, reverse=True)
    for line in result.lines:
        assert line.visits == result.visits[line.move]
        position = START
        for move in line.pv:
            position = position.push(move)


def test_proven_lines_come_first_or_last(engine):
    result = engine.search("W:WK18,K15:BK4", sims=3000, lines=99)
    best = result.lines[0]
    assert (best.proven, best.plies, best.value) == ("win", 3, 1.0)
    assert result.proofs[best.move] == ("win", 3)
    result = engine.search("B:WK32,K15:BK23,K30", sims=800, lines=99)
    assert [line.proven for line in result.lines] == [None] * 5 + ["loss"]
    assert (str(result.lines[-1].move), result.lines[-1].plies, result.lines[-1].value) == ("23-18", 4, -1.0)


def test_results_are_looked_up_by_move_or_text(engine):
    result = engine.search(START, sims=50)
    move = START.find_move("11-15")
    assert result.visits["11-15"] == result.visits[move] == result.visits.get("11-15")
    assert "11-15" in result.priors
    assert "11-18" not in result.priors
    with pytest.raises(KeyError):
        result.visits["11-18"]
    assert result.visits == pickle.loads(pickle.dumps(result)).visits
    assert MoveMap({move: 1}) == {move: 1}
    assert engine.policy(START).priors["11-15"] == pytest.approx(1 / 7)


# --- analysis ------------------------------------------------------------------------------------------


def test_an_analysis_grows_and_ends_with_its_limit(engine, monkeypatch):
    monkeypatch.setattr(base, "INTERVAL", 0)
    with engine.analysis(START, Limit(visits=3000), lines=2) as analysis:
        results = list(analysis)
    sims = [result.sims for result in results]
    assert sims == sorted(sims)
    assert len(set(sims[:-1])) == len(sims[:-1])
    assert [result.reason for result in results] == [None] * (len(results) - 1) + [StopReason.VISITS]
    assert results[-1].sims == 3000
    assert all(len(result.lines) == 2 for result in results)
    assert analysis.wait() is results[-1]
    engine.new_game()
    assert engine.search(START, sims=3000).visits == results[-1].visits


def test_leaving_the_loop_stops_the_search():
    with TreeEngine(Slow()) as engine:
        for result in engine.analysis(START):
            if result.sims > 20:
                break
        # No `with` block, and nothing else is under way:
        assert engine.search(START, sims=1).reason == StopReason.VISITS
        assert not [thread for thread in threading.enumerate() if thread.name == "ckai-analysis"]


def test_leaving_the_block_stops_the_search():
    with TreeEngine(Slow()) as engine:
        with engine.analysis(START) as analysis:
            assert next(analysis).sims >= 1
        assert analysis.wait().reason == StopReason.STOPPED
        with pytest.raises(KeyError, match="mine"), engine.analysis(START):
            raise KeyError("mine")
        assert engine.search(START, sims=1).sims >= 1


# --- stopping and closing ------------------------------------------------------------------------------


def test_a_capture_that_leads_into_the_tables_goes_on_as_they_say():
    # After 11x18 the tables have the position, so the search ends there: 18x27 draws and 18x25 loses.
    fen = "B:W15,22,K23:BK11"
    with Engine.load("uniform", tables=3) as engine:
        result = engine.search(fen, sims=50)
        truth = {str(move): engine.tables.probe(Position.from_fen(fen).push(move)) for move in result.proofs}
    assert str(result.move) == "11x18x27"
    assert (result.proven, result.value) == ("draw", 0.0)
    assert {str(move): proof for move, proof in result.proofs.items()} == {
        "11x18x25": ("loss", truth["11x18x25"].plies + 1),
        "11x18x27": ("draw", None),
    }
    assert [(str(line.move), line.proven) for line in result.lines] == [("11x18x27", "draw")]


def test_a_capture_of_the_last_pieces_is_a_proven_win():
    with Engine.load("uniform", tables=3) as engine:
        result = engine.search("B:W18,27:BK14,1", sims=50)
    assert (str(result.move), result.proofs["14x23x32"]) == ("14x23x32", ("win", 1))


def test_a_closed_engine_says_so():
    engine = Engine.load("uniform")
    engine.search(START, sims=10)
    engine.close()
    engine.close()
    engine.stop()
    assert repr(engine) == "<TreeEngine uniform, closed>"
    calls = (
        lambda: engine.search(START), lambda: engine.analysis(START), lambda: engine.policy(START),
        engine.new_game, engine.__enter__,
    )  # fmt: skip
    for call in calls:
        with pytest.raises(RuntimeError, match="the engine is closed; load another one"):
            call()


# --- evaluators that fail ------------------------------------------------------------------------------


class Failing(UniformEvaluator):
    """Fails at call `at`, counted from 1; `answer` in place of raising."""

    def __init__(self, at=0, answer=None):
        super().__init__()
        self.at, self.answer, self.calls = at, answer, 0

    def evaluate(self, boards, out_logits=None, out_values=None):
        self.calls += 1
        logits, values = super().evaluate(boards, out_logits, out_values)
        if self.calls == self.at:
            if self.answer is None:
                raise OSError("the device is gone")
            self.answer(logits, values)
        return logits, values


@pytest.mark.parametrize("at", [1, 7])
def test_a_search_after_a_failure_is_as_good_as_new(at):
    with TreeEngine(Failing(at)) as engine, TreeEngine(UniformEvaluator()) as good:
        with pytest.raises(OSError, match="the device is gone"):
            engine.search(START, sims=2000)
        assert engine.search(START, sims=2000).visits == good.search(START, sims=2000).visits


def test_an_analysis_raises_what_the_search_raised():
    with TreeEngine(Failing(5)) as engine:
        with pytest.raises(OSError, match="the device is gone"):
            for _ in engine.analysis(START):
                pass
        engine.evaluator.at = engine.evaluator.calls + 1
        with pytest.raises(OSError, match="the device is gone"), engine.analysis(START):
            time.sleep(0.1)
        engine.evaluator.at = engine.evaluator.calls + 1
        with pytest.raises(OSError, match="the device is gone"):
            engine.analysis(START).wait()
        assert engine.search(START, sims=100).sims == 100


@pytest.mark.parametrize(("part", "bad"), [("logits", np.nan), ("values", np.inf)])
def test_an_answer_that_is_no_number_is_refused(part, bad):
    def answer(logits, values):
        (logits if part == "logits" else values)[:] = bad

    for at in (1, 3):
        engine = TreeEngine(Failing(at, answer))
        with pytest.raises(ValueError, match="expected finite logits and values, found NaN or infinity"):
            engine.search(Position.start(), sims=200)
        assert engine.search(Position.start(), sims=200).sims >= 200
    with pytest.raises(ValueError, match="expected finite logits and values, found NaN or infinity"):
        TreeEngine(Failing(1, answer)).policy(Position.start())


@pytest.mark.slow
def test_a_program_may_end_while_an_analysis_goes_on():
    program = (
        "import time; from ckai.game import Position; from ckai.rl import Engine; "
        "engine = Engine.load('small', evaluator='torch'); "
        "next(engine.analysis(Position.start())); time.sleep(0.5); print('end')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
