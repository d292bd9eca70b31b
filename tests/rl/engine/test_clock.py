"""Time controls, clocks, the time of a move, and when a search by a clock ends."""

from functools import partial

import numpy as np
import pytest

from ckai.game import Position, Reason
from ckai.rl.engine import tree
from ckai.rl.engine.alphabeta import RandomEngine
from ckai.rl.engine.base import Engine, StopReason
from ckai.rl.engine.limit import Clock, Limit, MoveTime, MoveTimer, read_clock
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.matches import match
from ckai.rl.matches.match import match_game_pdn, match_pdn, play_match, read_match_games
from ckai.rl.matches.openings import draw_openings
from ckai.rl.search.searcher import SIZES, BatchSizer

START = Position.start()


# --- time controls -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("60s", Limit(clock=60)),
        ("5m+3s", Limit(clock=300, increment=3)),
        ("500ms+20ms", Limit(clock=0.5, increment=0.02)),
    ],
)
def test_time_controls_are_read(text, limit):
    assert read_clock(text) == limit


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("60", "such as 5m\\+3s or 60s\\+0.6s, found '60'"),
        ("60s+1", "found '60s\\+1'"),
        ("0s", "a time above 0"),
        ("1s+9999999s", "at most 1,000,000 s"),
        ("9" * 5000 + "s", "at most 1,000,000 s"),
    ],
)
def test_texts_that_are_no_time_controls(text, message):
    with pytest.raises(ValueError, match=message):
        read_clock(text)


class Time:
    """A clock on the wall, set by hand."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    perf_counter = __call__


def test_a_clock_runs_only_while_it_is_started():
    wall = Time()
    mine = Clock(Limit(clock=10, increment=1), now=wall)
    wall.now = 5
    assert mine.left == 10
    mine.start()
    wall.now = 7
    mine.start()  # it runs already
    assert mine.left == 8
    mine.press()
    wall.now = 50
    assert mine.left == 9
    mine.start()
    wall.now = 62
    assert mine.left == -3
    mine.press()
    assert mine.left == -2


# --- the time of a move --------------------------------------------------------------------------------


@pytest.mark.parametrize("increment", [0, 0.1, 5])
@pytest.mark.parametrize("moves", [None, 1, 2, 40])
@pytest.mark.parametrize("plies", [0, 30, 500])
def test_a_move_never_takes_more_than_there_is(increment, moves, plies):
    for left in (-3, 0, 0.01, 0.5, 60, 7200):
        limit = Limit(clock=left, increment=increment, remaining_moves=moves)
        target, most = limit.move_time(plies, margin=0.05)
        assert 0 <= target <= most <= max(0.0, left - 0.05)
        assert (target > 0) == (left > 0.05)


def test_time_is_shared_out_over_the_moves_to_come():
    assert Limit(clock=3600).move_time(0, 0.0).optimum == pytest.approx(3600 / 36)
    assert Limit(clock=3600).move_time(100, 0.0).optimum == pytest.approx(3600 / 12)
    assert Limit(clock=60, remaining_moves=10).move_time(0, 0.0).optimum == pytest.approx(6)
    assert Limit(clock=60, remaining_moves=1).move_time(0, 0.0) == MoveTime(60, 60)
    assert Limit(clock=36, increment=2).move_time(0, 0.0).optimum == pytest.approx(1 + 2)
    assert Limit(clock=60, seconds=0.5).move_time(0, 0.0) == MoveTime(0.5, 0.5)


# --- when a search ends --------------------------------------------------------------------------------


def test_an_unsettled_search_goes_on():
    thinking = MoveTimer(MoveTime(10, 20), 0.0, 0)
    assert not thinking.ended(10.0, 1000, lambda: (0, False))
    assert not thinking.ended(19.9, 1990, lambda: (900, False))
    assert thinking.ended(20.0, 2000, lambda: (0, False))
    thinking = MoveTimer(MoveTime(10, 20), 0.0, 0)
    assert not thinking.ended(9.9, 990, lambda: (0, True))
    assert thinking.ended(10.2, 1020, lambda: (0, True))


# --- the engine ----------------------------------------------------------------------------------------


class Leaning(UniformEvaluator):
    """Prefers actions with low numbers; a position takes 0.05 s of its own clock."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        logits[:] = -1.0 * np.arange(logits.shape[1], dtype=np.float32)
        self.now += 0.05 * len(boards)
        return logits, values


@pytest.fixture
def leaning(monkeypatch):
    evaluator = Leaning()
    monkeypatch.setattr(tree, "BATCHES", 1)
    with TreeEngine(evaluator) as searching:
        searching._batch_sizer = BatchSizer(1.0)
        monkeypatch.setattr(tree, "time", evaluator)
        yield searching


def test_a_search_by_clock_ends_with_its_decision(leaning):
    target = Limit(clock=3600).move_time(0, 0.02).optimum
    result = leaning.search(START, Limit(clock=3600))
    assert result.reason == StopReason.SECONDS
    assert 0.5 * target < result.seconds < 0.95 * target
    best, second = sorted(result.visits.values(), reverse=True)[:2]
    assert best > 2 * second
    fixed = leaning.search(START, Limit(seconds=target))
    assert fixed.reason == StopReason.SECONDS
    assert target <= fixed.seconds <= target + 0.05 * SIZES[-1]  # the last batch is completed


def test_the_way_a_capture_goes_on_is_part_of_the_decision(leaning):
    jumps = Position.from_fen("B:W7,15,16,29,31,32:B2,4")
    assert [str(move) for move in jumps.legal_moves()] == ["2x11x18", "2x11x20"]
    counts = leaning.search(jumps, Limit(visits=200)).visits.values()
    assert leaning._tree.lead()[0] == max(counts) - min(
        counts
    )  # of two moves, though the first hop is forced


# --- matches -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", ["uniform@0.2s+5ms", "rollout@0.2s+5ms"])
def test_whole_games_by_clock(spec, monkeypatch):
    monkeypatch.setattr(match, "TIME_MARGIN", 60.0)
    result = play_match(Engine.load(spec), RandomEngine(), draw_openings(1, 0), threads=1)
    assert len(result.games) == 2
    assert result.lost_by(Reason.TIME) == (0, 0)


class Late(Engine):
    """Takes more than its 10 s for its fourth move."""

    takes = frozenset(("clock",))

    def __init__(self, wall):
        super().__init__()
        self.wall, self.limit = wall, Limit(clock=10)

    def _search(self, task):
        self.wall.now += 10.1 if len(task.game.moves) // 2 == 3 else 0.0
        return task.game.position.legal_moves()[0]


@pytest.fixture
def late(monkeypatch):
    wall = Time()
    monkeypatch.setattr(match, "Clock", partial(Clock, now=wall))
    return Late(wall)


def test_a_game_is_lost_on_time(late, tmp_path):
    openings = draw_openings(2, 0)
    result = play_match(late, RandomEngine(), openings, threads=1)
    assert len(result.games) == 4
    assert (result.losses, result.lost_by(Reason.TIME)) == (4, (4, 0))
    for game in result.games:
        assert game.outcome.reason == Reason.TIME
        assert (game.outcome.winner == "black") != game.a_black
        assert game.game.position.black == game.a_black  # the move that came too late is not played
        text = match_game_pdn(game, "a", "b", DEFAULT_GAME)
        assert '[Termination "time forfeit"]' in text
        assert text.rstrip().endswith("0-1" if game.a_black else "1-0")
    (tmp_path / "games.pdn").write_text(match_pdn(result, "a", "b", DEFAULT_GAME))
    again = read_match_games(tmp_path / "games.pdn", openings, DEFAULT_GAME)
    assert [(g.outcome, g.game.moves) for g in again] == [(g.outcome, g.game.moves) for g in result.games]
    assert play_match(RandomEngine(), late, openings, threads=1).lost_by(Reason.TIME) == (0, 4)
