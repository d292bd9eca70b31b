"""The rules, one position each, small enough to check by eye."""

import pytest

from ckai.game import MoveError, Position

RULES = {
    "Black begins and moves towards 32": ("B:W21-32:B1-12", "9-13 9-14 10-14 10-15 11-15 11-16 12-16"),
    "White moves towards 1": ("W:W21-32:B1-12", "21-17 22-17 22-18 23-18 23-19 24-19 24-20"),
    "men never step back": ("B:W32:B18", "18-22 18-23"),
    "men never step back, White": ("W:W18:B1", "18-14 18-15"),
    "kings step one square in four directions": ("B:W32:BK18", "18-14 18-15 18-22 18-23"),
    "edges do not wrap, 5": ("B:W32:B5", "5-9"),
    "edges do not wrap, 12": ("B:W32:B12", "12-16"),
    "edges do not wrap, 4": ("B:W32:B4", "4-8"),
    "edges do not wrap, 29": ("B:WK1:BK29", "29-25"),
    "edges do not wrap, 28": ("B:W5:BK28", "28-24 28-32"),
    "edges do not wrap, 21": ("B:W29:B4,K21", "4-8 21-17 21-25"),
    "capturing is compulsory": ("B:W15,32:B11,1", "11x18"),
    "any capture may be chosen, not only the longest": ("B:W15,22,16:B11,12", "11x18x25 11x20 12x19"),
    "a capture must be carried through": ("B:W15,22:B11", "11x18x25"),
    "men never capture backwards": ("B:W15,32:B18", "18-22 18-23"),
    "men never capture backwards, White": ("W:W18:B22,1", "18-14 18-15"),
    "kings capture in four directions": ("B:W14,15,22,23:BK18", "18x9 18x11 18x25 18x27"),
    "a king does not fly": ("B:W22:BK11", "11-7 11-8 11-15 11-16"),
    "no capture over two pieces": ("B:W15,18,16,20:B11", ""),
    "no capture onto a piece": ("B:W15,18,32:B11", "11-16"),
    "no piece is jumped twice": ("B:W6,7,14,15:BK2", "2x9x18x11x2 2x11x18x9x2"),
    "a circle may be left": ("B:W6,7,14,15,22:BK2", "2x9x18x11x2 2x9x18x25 2x11x18x9x2 2x11x18x25"),
    "a man crowned in a capture stops there": ("B:W25,26:B21", "21x30"),
    "a king captures on from its last row": ("B:W25,26:BK21", "21x30x23"),
}


@pytest.mark.parametrize(("fen", "moves"), RULES.values(), ids=RULES)
def test_legal_moves(fen, moves):
    assert [str(move) for move in Position.from_fen(fen).legal_moves()] == moves.split()


def test_between_two_hops_the_same_side_goes_on_with_the_same_piece():
    position = Position.from_fen("B:W15,22,16:B11,12")
    middle = position.push_action(position.find_move("11x18x25").actions[0])
    assert (middle.black, middle.jumper) == (True, 17)
    assert [str(move) for move in middle.legal_moves()] == ["18x25"]
    after = middle.push("18x25")
    assert (after.black, after.jumper) == (False, -1)
    with pytest.raises(MoveError, match="hop 3 is illegal here"):
        position.push_action(3)


@pytest.mark.parametrize(
    "text", ["11-15", "11x15", "11X15", "11:15", "11\u201315", " 11 - 15 ", "11\u00a0-15", "11*15", "11 -15"]
)
def test_marks_between_squares(text):
    assert str(Position.start().find_move(text)) == "11-15"


def test_short_captures_are_resolved():
    position = Position.from_fen("W:W26:B22,14,6")
    for text in ("26x1", "26-1", "26x17x1", "26x10x1"):
        assert str(position.find_move(text)) == "26x17x10x1"
    for text in ("26x17", "26x17x10", "17x1", "26x10x17x1"):  # a part of a capture is not the capture
        with pytest.raises(MoveError, match=f"'{text}' is illegal here \\(legal: 26x17x10x1\\)"):
            position.find_move(text)


def test_ambiguous_text_is_refused_and_both_moves_are_named():
    position = Position.from_fen("B:W6,7,14,15:BK2")
    with pytest.raises(MoveError, match=r"'2x2' is ambiguous here .*2x9x18x11x2, 2x11x18x9x2"):
        position.find_move("2x2")
    with pytest.raises(MoveError):
        position.find_move("2x9x2")  # both pass 9
    assert str(position.find_move("2x9x18x2")) == "2x9x18x11x2"


@pytest.mark.parametrize(
    "text",
    ["", "11", "11-", "-15", "11-15-", "e3-f4", "0-4", "11-33", "111-15", "11--15", "1-0", "\u0661\u0661-15"],
)
def test_text_that_is_no_move(text):
    with pytest.raises(MoveError, match="is not a move such as 11-15"):
        Position.start().find_move(text)


def test_the_error_names_the_legal_moves():
    with pytest.raises(MoveError, match="'11-18' is illegal here \\(legal: 9-13, 9-14"):
        Position.start().push("11-18")
    with pytest.raises(MoveError, match="no legal move: the side to move has lost"):
        Position.from_fen("B:W18:B").push("11-15")
    with pytest.raises(MoveError, match="'11x18' is illegal here"):
        Position.start().push(Position.from_fen("B:W15:B11").legal_moves()[0])
    with pytest.raises(MoveError):
        Position.start().find_path([11])
