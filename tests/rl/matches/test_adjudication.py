"""Games of matches that tablebases end: `play_match(adjudicate=...)` and `ckai match --adjudicate`."""

import json

import pytest

from ckai.datasets.tables import Tables
from ckai.game import Position
from ckai.rl.engine.simple import RandomEngine
from ckai.rl.matches.match import MatchReason, play_match
from ckai.rl.matches.openings import draw_openings

ADJUDICATED = MatchReason.ADJUDICATED


def pieces(position):
    return (position.own | position.opp).bit_count()


@pytest.fixture(scope="module")
def result():
    return play_match(RandomEngine(), RandomEngine(), draw_openings(40, 0), adjudicate=3)


@pytest.mark.slow
def test_a_game_ends_with_the_result_of_the_tables(result):
    tables = Tables.open(3)
    assert 0 < result.ended_by(ADJUDICATED) <= len(result.games) == 80
    for played in result.games:
        *before, last = played.game.positions
        assert all(pieces(position) > 3 for position in before)
        assert (played.reason == ADJUDICATED) == (pieces(last) <= 3 and last.outcome() is None)
        if played.reason == ADJUDICATED:
            probed = tables.probe(last).value
            mover, other = ("black", "white") if last.black else ("white", "black")
            assert played.outcome.winner == {"win": mover, "loss": other, "draw": None}[probed]
    assert {game.outcome.winner for game in result.games if game.reason == ADJUDICATED} >= {"black", "white"}


def test_a_drawn_position_is_a_draw():
    kings = Position.from_fen("B:WK32:BK1")
    assert Tables.open(3).probe(kings).value == "draw"
    one, two = play_match(RandomEngine(), RandomEngine(), [kings], adjudicate=3).games
    assert (one.score, two.score, one.outcome.result) == (0.5, 0.5, "1/2-1/2")
    assert len(one.game.moves) == 1, "the position that a game begins in is not adjudicated"


def test_the_command(tmp_path, ckai):
    arguments = ("match", "random", "random", "--games", 20, "-o", tmp_path / "games.pdn")
    status, out, _ = ckai(*arguments, "--adjudicate", 3, "--json")
    count = json.loads(out)["adjudicated"]
    assert (status, count > 0) == (0, True)
    status, out, _ = ckai(*arguments, "--adjudicate", 3)
    assert (status, f"{count} games adjudicated by tablebases" in out) == (0, True)
    status, _, err = ckai("match", "random", "random", "--game", "connect4", "--adjudicate", 3)
    assert (status, "expected a game with tablebases, found connect4" in err) == (2, True)
    status, _, err = ckai("match", "random", "random", "--game", "connect4", "--tables", 3)
    assert (status, "expected auto or none for connect4" in err) == (2, True)
