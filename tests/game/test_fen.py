"""FEN as it is found, and positions that cannot be."""

import pytest

from ckai.game import Position, PositionError

START = "B:W21,22,23,24,25,26,27,28,29,30,31,32:B1,2,3,4,5,6,7,8,9,10,11,12"


@pytest.mark.parametrize(
    ("text", "fen"),
    [
        ("B:W21-32:B1-12", START),
        ("B:B1-12:W21-32", START),
        ("W:WK29-31,5:BK1-2", "W:W5,K29,K30,K31:BK1,K2"),
        ("W:WK29-K31:B1", "W:WK29,K30,K31:B1"),
        ("B:W18,24:B1-3.", "B:W18,24:B1,2,3"),
        ("B:W18,24:B1-3 .", "B:W18,24:B1,2,3"),
        (' "W : W 18 , K 24 :\n B 1 - 3 " ', "W:W18,K24:B1,2,3"),
        ("w:w18,k24:b1-3", "W:W18,K24:B1,2,3"),
        ("B:W:B1", "B:W:B1"),
        ("W:W18:B", "W:W18:B"),
        ("W:WK18:BK1:H17:F40", "W:WK18:BK1:H17"),
        ("W:WK18:BK1:F40:H17.", "W:WK18:BK1:H17"),
        ('[FEN "W:W18:B4"]', "W:W18:B4"),
        ("W:WK18:BK1:H0:F40", "W:WK18:BK1"),
        ("B:W21,,22,:B01", "B:W21,22:B1"),
    ],
)
def test_a_fen_of_any_form_is_written_in_one(text, fen):
    assert Position.from_fen(text).fen == fen


def test_jumper():
    # Black's man has come from 2 and must go on from 11 over 15.
    position = Position.from_fen("B:W15,24:B11", jumper=11)
    assert [str(move) for move in position.legal_moves()] == ["11x18"]
    assert repr(position) == "Position.from_fen('B:W15,24:B11', jumper=11)"
    white = Position.from_fen("W:W22:B18,2", jumper=22)
    assert [str(move) for move in white.legal_moves()] == ["22x15"]


@pytest.mark.parametrize(
    ("fen", "message"),
    [
        ("", "expected the side to move, one list W"),
        ("R:W21-32:B1-12", "expected the side to move"),
        ("B:W21", "one list W"),
        ("B:W21:W22", "one list W"),
        ("B:W21:B1:B2", "one list W"),
        ("B:W21:B1:Hx", "one list W"),
        ("B:W15:B11:H" + "9" * 5000, "one list W"),
        ("B::", "one list W"),
        ("B:W21:Bx", "found 'x'"),
        ("B:W21:B1 2", "expected a square such as 18, K18 or 1-12, found '1 2'"),
        ("B:W21:B123", "found '123'"),
        ("B:W\u0662\u0661:B1", "expected a square such as 18"),  # 21 in Arabic digits
        ("B:W33:B1", "squares from 1 to 32, low square first, found '33'"),
        ("B:W0:B1", "squares from 1 to 32, low square first, found '0'"),
        ("B:W12-9:B1", "low square first, found '12-9'"),
        ("B:W18,K18:B1", "two pieces on square 18"),
        ("B:W18:B17-19", "two pieces on square 18"),
    ],
)
def test_no_fen(fen, message):
    with pytest.raises(PositionError, match=message):
        Position.from_fen(fen)


@pytest.mark.parametrize(
    ("fen", "message"),
    [
        ("B:W21-32:B1-13", "Black has 13 pieces, at most 12"),
        ("B:W20-32:B1-12", "White has 13 pieces, at most 12"),
        ("B:W18:B29", "a man of Black on its crowning row, square 29"),
        ("W:W1,K2:B18", "a man of White on its crowning row, square 1"),
    ],
)
def test_positions_that_cannot_be(fen, message):
    with pytest.raises(PositionError, match=message) as caught:
        Position.from_fen(fen)
    assert fen in str(caught.value)


@pytest.mark.parametrize(
    ("fen", "fields", "message"),
    [
        ("B:W15:B11", {"jumper": 5}, "no piece of the side to move on jumper square 5"),
        ("B:W24:B11", {"jumper": 11}, "the piece on 11 has no capture to continue"),
        ("B:W15:B11", {"jumper": 0}, "jumper from 1 to 32, found 0"),
        ("B:W15:B11:H32768", {}, "halfmove_clock from 0 to 32767, found 32768"),
    ],
)
def test_jumpers_and_counts_that_cannot_be(fen, fields, message):
    with pytest.raises(PositionError, match=message):
        Position.from_fen(fen, **fields)


def test_piece_and_text_board():
    position = Position.from_fen("W:W30,K9:B1,K22")
    assert [position.piece(square) for square in (1, 9, 22, 30, 5)] == ["b", "W", "B", "w", "."]
    assert str(position).splitlines() == [
        "  b   .   .   .",
        ".   .   .   .",
        "  W   .   .   .",
        ".   .   .   .",
        "  .   .   .   .",
        ".   B   .   .",
        "  .   .   .   .",
        ".   w   .   .",
        "White to move",
    ]
    for square in (0, 33, -1):
        with pytest.raises(ValueError, match=f"from 1 to 32, found {square}"):
            position.piece(square)
