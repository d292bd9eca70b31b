"""One test a rule, named after it; positions small enough to check by eye."""

import pytest

from ckai.game import MoveError, Position


def moves(fen, **fields):
    return [str(move) for move in Position.from_fen(fen, **fields).legal_moves()]


# --- steps ---------------------------------------------------------------------------------------------


def test_black_begins_and_moves_towards_32():
    assert moves("B:W21-32:B1-12") == ["9-13", "9-14", "10-14", "10-15", "11-15", "11-16", "12-16"]


def test_white_moves_towards_1():
    assert moves("W:W21-32:B1-12") == ["21-17", "22-17", "22-18", "23-18", "23-19", "24-19", "24-20"]


def test_men_never_step_back():
    assert moves("B:W32:B18") == ["18-22", "18-23"]
    assert moves("W:W18:B1") == ["18-14", "18-15"]


def test_kings_step_one_square_in_four_directions():
    assert moves("B:W32:BK18") == ["18-14", "18-15", "18-22", "18-23"]


def test_edges_do_not_wrap():
    assert moves("B:W32:B5") == ["5-9"]
    assert moves("B:W32:B12") == ["12-16"]
    assert moves("B:W32:B4") == ["4-8"]
    assert moves("B:WK1:BK29") == ["29-25"]
    assert moves("B:W5:BK28") == ["28-24", "28-32"]
    assert moves("B:W29:B4,K21") == ["4-8", "21-17", "21-25"]


# --- captures ------------------------------------------------------------------------------------------


def test_capturing_is_compulsory():
    assert moves("B:W15,32:B11,1") == ["11x18"]


def test_any_capture_may_be_chosen_not_only_the_longest():
    # 11x18x25 takes two, 12x19 takes one.
    assert moves("B:W15,22,16:B11,12") == ["11x18x25", "11x20", "12x19"]


def test_a_capture_must_be_carried_through():
    assert moves("B:W15,22:B11") == ["11x18x25"]


def test_men_never_capture_backwards():
    assert moves("B:W15,32:B18") == ["18-22", "18-23"]
    assert moves("W:W18:B22,1") == ["18-14", "18-15"]


def test_kings_capture_in_four_directions():
    assert moves("B:W14,15,22,23:BK18") == ["18x9", "18x11", "18x25", "18x27"]


def test_a_king_does_not_fly():
    assert moves("B:W22:BK11") == ["11-7", "11-8", "11-15", "11-16"]


def test_no_capture_over_two_pieces_or_onto_a_piece():
    assert moves("B:W15,18,16,20:B11") == []
    assert moves("B:W15,18,32:B11") == ["11-16"]


def test_a_piece_cannot_be_jumped_twice():
    # Round the four and back on 2: all taken, and the circle ends there.
    assert moves("B:W6,7,14,15:BK2") == ["2x9x18x11x2", "2x11x18x9x2"]
    # With a fifth piece beyond, 18 is passed once only.
    assert moves("B:W6,7,14,15,22:BK2") == ["2x9x18x11x2", "2x9x18x25", "2x11x18x9x2", "2x11x18x25"]


def test_the_square_a_piece_came_from_counts_as_empty():
    position = Position.from_fen("B:W6,7,14,15:BK2")
    after = position.push("2x9x18x11x2")
    assert after.fen == "W:W:BK2"
    # A king that starts on the circle passes over its first square and beyond it.
    assert "9x2x11x18x9" in moves("B:W6,7,14,15:BK9")


# --- crowning ------------------------------------------------------------------------------------------


def test_a_man_that_reaches_the_last_row_is_crowned():
    assert Position.from_fen("B:W10:B25").push("25-30").fen == "W:W10:BK30"
    assert Position.from_fen("W:W6:B22").push("6-1").fen == "B:WK1:B22"


def test_a_man_crowned_in_a_capture_stops_there():
    # From 30 a king could go on over 26 to 23, or 25 to 21.
    position = Position.from_fen("B:W25,26:B21")
    assert [str(move) for move in position.legal_moves()] == ["21x30"]
    after = position.push("21x30")
    assert after.fen == "W:W26:BK30"
    assert not after.black


def test_a_king_goes_on_from_its_last_row():
    assert moves("B:W25,26:BK21") == ["21x30x23"]


# --- the middle of a capture ---------------------------------------------------------------------------


def test_between_two_hops_the_same_side_goes_on_with_the_same_piece():
    position = Position.from_fen("B:W15,22,16:B11,12")
    label = position.find_move("11x18x25").actions[0]
    middle = position.push_action(label)
    assert middle.black
    assert middle.jumper == 17
    assert [str(move) for move in middle.legal_moves()] == ["18x25"]
    after = middle.push("18x25")
    assert not after.black
    assert after.jumper == -1


def test_an_illegal_hop_is_refused():
    with pytest.raises(MoveError, match="hop 3 is illegal here"):
        Position.start().push_action(3)


# --- the halfmove clock -----------------------------------------------------------------------------------


def test_quiet_counts_steps_of_kings_only():
    position = Position.from_fen("B:W30,21:BK1,10", halfmove_clock=7)
    assert position.push("1-5").halfmove_clock == 8
    assert position.push("10-15").halfmove_clock == 0
    assert Position.from_fen("B:W6:BK1", halfmove_clock=7).push("1x10").halfmove_clock == 0


# --- moves as text -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["11-15", "11x15", "11X15", "11:15", "11\u201315", " 11 - 15 ", "11\u00a0-15", "11*15", "11 -15"]
)
def test_marks_between_squares(text):
    assert str(Position.start().find_move(text)) == "11-15"


def test_short_captures_are_resolved():
    position = Position.from_fen("W:W26:B22,14,6")
    assert str(position.find_move("26x1")) == "26x17x10x1"
    assert str(position.find_move("26-1")) == "26x17x10x1"
    assert str(position.find_move("26x17x1")) == "26x17x10x1"
    assert str(position.find_move("26x10x1")) == "26x17x10x1"


def test_a_part_of_a_capture_is_not_the_capture():
    position = Position.from_fen("W:W26:B22,14,6")
    for text in ("26x17", "26x17x10", "17x1", "26x10x17x1"):
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


def test_a_move_of_another_position_is_refused():
    other = Position.from_fen("B:W15:B11").legal_moves()[0]
    with pytest.raises(MoveError, match="'11x18' is illegal here"):
        Position.start().push(other)


def test_one_square_is_no_path():
    with pytest.raises(MoveError):
        Position.start().find_path([11])


def test_a_move_is_found_by_its_hops():
    position = Position.from_fen("B:W6,14,15:BK1")
    for move in position.legal_moves():
        assert position.move_of(move.actions) == position.move_of(list(move.actions)) == move
        assert position.move_of([*move.actions, 0]) is None
    longest = max(position.legal_moves(), key=lambda move: len(move.actions))
    assert len(longest.actions) > 1
    assert position.move_of(longest.actions[:1]) is None
    assert position.move_of([]) is None
