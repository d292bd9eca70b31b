"""The public face: colors, set-ups, FEN with its clock, the end of a game, pictures."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from positions import setups

from ckai.game import BLACK, WHITE, Game, Move, Position, PositionError

OVER_GAMES = settings(max_examples=25)
OVER_SETUPS = settings(max_examples=150)
SVG = "{http://www.w3.org/2000/svg}"


# --- colors ------------------------------------------------------------------------------------------


def test_the_winner_is_a_color():
    assert Position.from_fen("B:W18:B").outcome().winner is WHITE
    assert Game(Position.from_fen("W:W:B1")).outcome().winner is BLACK


# --- set-ups -----------------------------------------------------------------------------------------


@OVER_SETUPS
@given(setups(), st.integers(0, 200))
def test_pieces_and_squares_lead_back(position, clock):
    position = replace(position, halfmove_clock=clock)
    pieces = position.pieces()
    assert list(pieces) == sorted(pieces)
    assert {square: position.piece(square) for square in range(1, 33)} == {
        square: pieces.get(square, ".") for square in range(1, 33)
    }
    rest = {"turn": position.turn, "halfmove_clock": clock}
    assert Position.from_pieces(pieces, **rest) == position
    assert Position.from_pieces(pieces, **{**rest, "turn": str(position.turn)}) == position


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"pieces": {0: "b"}}, "squares from 1 to 32, found 0"),
        ({"pieces": {33: "W"}}, "squares from 1 to 32, found 33"),
        ({"pieces": dict.fromkeys(range(1, 14), "b")}, "Black has 13 pieces"),
        ({"pieces": {29: "b"}}, "a man of Black on its crowning row, square 29"),
        ({"turn": "red"}, "turn black or white, found 'red'"),
        ({"pieces": {7: "x"}}, "expected one of b, B, w, W on square 7"),
    ],
)
def test_set_ups_that_cannot_be(fields, message):
    with pytest.raises(PositionError, match=message):
        Position.from_pieces(**{"pieces": {1: "b"}, **fields})


# --- moves -------------------------------------------------------------------------------------------


def test_text_that_names_no_move_is_not_legal():
    start = Position.start()
    for text in ("", "e3-f4", "11-33", "11-18", "21-17"):
        assert not start.is_legal(text)
        assert not Game().is_legal(text)
    assert not Position.from_fen("B:W6,14,7,15:B2").is_legal("2x18")  # ambiguous
    capture = Position.from_fen("B:W15:B11").legal_moves()[0]
    assert not start.is_legal(capture)
    assert not start.is_legal(Move((11, 15), (0,)))


# --- the end -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fen", "result"),
    [
        ("B:W18:B", "0-1"),
        ("W:W:B18", "1-0"),
        ("B:W9,14:B5", "0-1"),
        ("W:W13:B9,6", "1-0"),
        ("W:W13:B9,6:H80", "1-0"),  # a loss counts before the draw
        ("B:WK32:BK1:H79", "*"),
        ("B:WK32:BK1:H80", "1/2-1/2"),
        ("W:WK32:BK1:H81", "1/2-1/2"),
        ("B:WK32:BK1", "*"),
    ],
)
def test_what_a_position_alone_decides(fen, result):
    position = Position.from_fen(fen)
    assert position.is_game_over() == (result != "*")
    assert Game(position).result() == result
    assert Game(position).is_game_over() == (result != "*")


# --- text and pictures -------------------------------------------------------------------------------


def test_a_game_shows_its_last_moves():
    game = Game()
    assert repr(game) == "<Game (Black to move)>"
    for text in ("11-15", "22-18", "15x22"):
        game.push(text)
    assert repr(game) == "<Game 11-15 22-18 15x22 (White to move)>"
    for text in ("25x18", "8-11", "29-25", "4-8"):
        game.push(text)
    assert repr(game) == "<Game ... 22-18 15x22 25x18 8-11 29-25 4-8 (White to move)>"
    white = Game(Position.from_fen("W:W22:B18"))
    white.push("22x15")
    assert repr(white) == "<Game 22x15 (White won: Black has no pieces left)>"


def drawn(svg, kind="piece"):
    return [group for group in ET.fromstring(svg).iter(f"{SVG}g") if group.get("class") == kind]


@OVER_SETUPS
@given(setups())
def test_a_picture_has_the_pieces_of_the_position(position):
    groups = drawn(position.svg())
    assert {int(g.get("data-square")): g.get("data-piece") for g in groups} == position.pieces()
    assert len({g.get("transform") for g in groups}) == len(groups)
    crowned = [g for g in groups if g.find(f"{SVG}path") is not None]
    assert len(crowned) == position.kings.bit_count()


def test_options_of_a_picture():
    position = Position.start()
    root = ET.fromstring(position.svg())
    assert [text.text for text in root.iter(f"{SVG}text")] == [str(square) for square in range(1, 33)]
    assert root.find(f"{SVG}title").text == position.fen
    assert drawn(position.svg(), "arrow") == []
    move = Position.from_fen("W:W26:B22,14,6").legal_moves()[0]
    shown = position.svg(last_move=move)
    assert len(drawn(shown, "arrow")) == 3
    assert shown.count('class="square last"') == 4


def test_notebooks_show_positions_and_games():
    game = Game()
    assert game._repr_svg_() == game.position._repr_svg_() == Position.start().svg()
    game.push("11-15")
    assert game._repr_svg_() == game.position.svg(last_move=game.moves[0])
