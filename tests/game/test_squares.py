"""The numbers of the board, and the page that prints them."""

import numbers_table

from ckai.game import Position, squares

POSSIBLE = [label for label in range(128) if squares.neighbour(*divmod(label, 4)) >= 0]


def test_the_page_is_what_the_code_computes():
    page = numbers_table.PAGE.read_text()
    assert page == numbers_table.render(page), "run `python tests/support/numbers_table.py`"


def test_squares_and_indices_turn_with_the_side_to_move():
    for index in range(32):
        for black in (True, False):
            assert squares.index_of(squares.square_of(index, black), black) == index
        assert squares.square_of(index, True) + squares.square_of(index, False) == 33


def test_the_examples_of_the_directions():
    ends = [[squares.neighbour(index, direction) for direction in range(4)] for index in (4, 5)]
    assert ends == [[0, 8, -1, -1], [1, 9, 8, 0]]


def test_98_labels_stay_on_the_board_and_each_is_legal_somewhere():
    assert len(POSSIBLE) == 98
    for label in POSSIBLE:
        index = label // 4
        king = Position(1 << index, 0, 1 << index)
        assert label in king.legal_actions()
