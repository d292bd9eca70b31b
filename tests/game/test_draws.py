"""Ends of games, on both sides of each boundary."""

import pytest

from ckai.game import Game, Position, Reason

# Two kings that step to and fro; four plies lead back to the same position.
KINGS = "B:WK32:BK1"
ROUND = ("1-5", "32-28", "5-1", "28-32")


def after(fen, *moves, halfmove_clock=0, **limits):
    game = Game(Position.from_fen(f"{fen}:H{halfmove_clock}"), **limits)
    for move in moves:
        game.push(move)
    return game


def test_second_time_goes_on_third_time_is_a_draw():
    game = after(KINGS, *ROUND)
    assert game.repetitions() == 2
    assert game.outcome() is None
    for move in ROUND[:-1]:
        game.push(move)
        assert game.outcome() is None
    game.push(ROUND[-1])
    assert game.repetitions() == 3
    outcome = game.outcome()
    assert (outcome.winner, outcome.reason, outcome.result) == (None, Reason.REPETITION, "1/2-1/2")
    assert str(outcome) == "drawn: the position stands for the third time"


def test_quiet_ply_79_goes_on_80_is_a_draw():
    game = after(KINGS, "1-5", halfmove_clock=78)
    assert game.position.halfmove_clock == 79
    assert game.outcome() is None
    game.push("32-28")
    outcome = game.outcome()
    assert (outcome.winner, outcome.reason) == (None, Reason.HALFMOVE_LIMIT)
    assert str(outcome) == "drawn: 80 plies without a capture or a man's move"


def test_the_80th_ply_by_a_man_or_a_capture_is_no_draw():
    assert after("B:WK32:BK1,10", "10-15", halfmove_clock=79).outcome() is None
    assert after("B:WK6,K32:BK1", "1x10", halfmove_clock=79).outcome() is None


def test_both_limits_are_parameters():
    assert after(KINGS, *ROUND, repetition_limit=2).outcome().reason == Reason.REPETITION
    assert str(after(KINGS, *ROUND, repetition_limit=2).outcome()).endswith("stands for the second time")
    assert after(KINGS, *ROUND, *ROUND, repetition_limit=4).outcome() is None
    assert after(KINGS, *ROUND[:3], halfmove_limit=4).outcome() is None
    assert str(after(KINGS, *ROUND, halfmove_limit=4).outcome()).startswith("drawn: 4 plies")
    assert after(KINGS, "1-5", "32-28", halfmove_clock=78, halfmove_limit=81).outcome() is None


def test_push_and_pop():
    game = Game()
    assert str(game.push("11-15")) == "11-15"
    game.push("23-19")
    assert game.history == [Position.start(), Position.start().push("11-15")]
    assert str(game.pop()) == "23-19"
    assert game.position == Position.start().push("11-15")
    game.pop()
    with pytest.raises(IndexError):
        game.pop()
    assert game.positions == [Position.start()]
