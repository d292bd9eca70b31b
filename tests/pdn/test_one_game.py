"""Games from and to PDN through `ckai.game`, which must not import `ckai.pdn`."""

import io
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from positions import games

from ckai.game import Game, Position
from ckai.pdn import PdnError, read_games

TEXT = '[White "W\u00fcllie"]\n1. 11-15 {x} 22-18 (22-17) 1-0\n[Event "two"]\n1. 9-14 *\n'


def play(positions):
    game = Game(positions[0])
    for before, after in pairwise(positions):
        game.push(next(move for move in before.legal_moves() if before.push(move) == after))
    return game


@settings(max_examples=30)
@given(games(max_plies=60), st.integers(0, 60), st.sampled_from([None, "1-0", "0-1", "1/2-1/2", "*"]))
def test_games_lead_back_with_the_clock_of_their_start(positions, skipped, result):
    # Starting in the middle of a game gives first positions with a clock.
    game = play(positions[min(skipped, len(positions) - 1) :])
    text = game.to_pdn({"Event": 'a "b" \\ c'}, result)
    again = Game.from_pdn(text)
    assert (again.positions, again.moves) == (game.positions, game.moves)
    assert again.headers == {"Event": 'a "b" \\ c', "Result": result or game.result(), "GameType": "21"}
    assert again.to_pdn() == text


def test_a_start_in_the_middle_of_a_capture_keeps_its_moves():
    game = Game(Position.from_fen("B:W15,24:B11,1", jumper=11))
    game.push("11x18")
    again = Game.from_pdn(game.to_pdn())
    assert (again.moves, again.position) == (game.moves, game.position)


def test_the_first_game_of_a_text_or_a_file(tmp_path):
    path = tmp_path / "two.pdn"
    path.write_text(TEXT, encoding="utf-8")
    for source in (TEXT, path):
        game = Game.from_pdn(source)
        assert (game.headers, [str(m) for m in game]) == (
            {"White": "W\u00fcllie", "Result": "1-0"},
            ["11-15", "22-18"],
        )
    with pytest.raises(PdnError, match=r"text: expected games, found none: give a file as a Path"):
        Game.from_pdn(str(path))


def test_a_recorded_result_ends_with_the_next_move():
    game = Game.from_pdn("1. 11-15 22-18 1-0")
    assert (game.result(), game.headers["Result"]) == ("*", "1-0")
    assert game.to_pdn().endswith("22-18 1-0\n\n")
    game.push("15x22")
    assert game.to_pdn().endswith("15x22 *\n\n")
    game.headers["Result"] = "0-1"
    game.pop()
    assert "Result" not in game.headers


def test_headers_of_a_file():
    text = '[event "a"]\n[Event "b"]\n[SetUp "1"]\n[fen "B:WK32:BK1:H5"]\n[RESULT "1-0"]\n1. 1-5 *\n'
    game = Game.from_pdn(text)
    assert game.headers == {"event": "a", "Event": "b", "Result": "*"}
    assert game.positions[0].halfmove_clock == 5
    # Tags that the writer adds replace those of any case.
    written = game.to_pdn({"fen": "W:W1:B2", "gametype": "20", "setup": "0", "result": "won", "Site": "x"})
    (again,) = read_games(io.BytesIO(written.encode()))
    assert [name for name, _ in again.headers] == ["Site", "Result", "GameType", "SetUp", "FEN"]
    assert again.start == game.positions[0]
