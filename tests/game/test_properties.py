"""What holds in every position, tried on thousands of them."""

import pytest
import slow_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from positions import games, rotated, setups, short

from ckai.game import MoveError, Position, PositionError, kernels

# A game is 30 to 120 positions, so each test over games sees thousands.
OVER_GAMES = settings(max_examples=30)
OVER_SETUPS = settings(max_examples=60)


def assert_same_as_twin(position):
    board, side = slow_rules.read(position.fen)
    jumper = None
    if position.jumper >= 0:
        jumper = position.jumper + 1 if position.black else 32 - position.jumper
    slow = slow_rules.legal_moves(board, side, jumper)
    fast = position.legal_moves()
    assert [move.path for move in fast] == sorted(slow)
    for move in fast:
        captured, after = slow[move.path]
        assert move.captured == captured
        reached = position.push(move)
        assert reached.fen.partition(":H")[0] == slow_rules.write(after, slow_rules.other(side))
        assert reached.jumper == -1
        steps_king = not captured and board[slow_rules.PLACES[move.path[0]]].isupper()
        assert reached.halfmove_clock == (position.halfmove_clock + 1 if steps_king else 0)


@OVER_GAMES
@given(games())
def test_fast_and_slow_rules_agree_in_games(positions):
    for position in positions:
        assert_same_as_twin(position)


@OVER_SETUPS
@given(setups())
def test_fast_and_slow_rules_agree_on_boards_set_up(position):
    assert_same_as_twin(position)
    for label in position.legal_actions():
        after = position.push_action(label)
        if after.jumper >= 0:
            assert_same_as_twin(after)


def hop_sequences(position):
    """Every chain of hops until the turn passes, and where it leads."""
    for label in position.legal_actions():
        after = position.push_action(label)
        if after.black == position.black:
            for labels, end in hop_sequences(after):
                yield (label, *labels), end
        else:
            yield (label,), after


@OVER_SETUPS
@given(setups())
def test_hop_sequences_are_whole_moves(position):
    chains = dict(hop_sequences(position))
    assert chains == {move.actions: position.push(move) for move in position.legal_moves()}
    assert kernels.perft(position.own, position.opp, position.kings, -1, 1) == len(chains)


@OVER_GAMES
@given(games())
def test_turning_the_board_keeps_the_moves(positions):
    for position in positions:
        turned = rotated(position)
        assert turned.legal_actions() == position.legal_actions()
        assert {m.actions for m in turned.legal_moves()} == {m.actions for m in position.legal_moves()}
        there = {tuple(33 - square for square in move.path) for move in turned.legal_moves()}
        assert there == {move.path for move in position.legal_moves()}


@OVER_GAMES
@given(games())
def test_fen_and_repr_lead_back(positions):
    for position in positions:
        assert Position.from_fen(position.fen) == position
        assert eval(repr(position)) == position
        for label in position.legal_actions()[:2]:
            after = position.push_action(label)
            assert eval(repr(after)) == after


@OVER_SETUPS
@given(setups())
def test_text_names_one_move_or_is_refused(position):
    moves = position.legal_moves()
    for move in moves:
        assert position.find_move(str(move)) == move
        assert position.find_move(str(move).replace("x", " - ")) == move
        assert position.find_path(move.path) == move
    texts = {short(move) for move in moves}
    for text in texts:
        # A move that is exactly what the text says wins over longer ones.
        exact = [move for move in moves if str(move) == text]
        fits = exact or [move for move in moves if short(move) == text]
        if len(fits) > 1:
            with pytest.raises(MoveError, match=f"'{text}' is ambiguous here"):
                position.find_move(text)
        else:
            assert position.find_move(text) == fits[0]


@settings(max_examples=100)
@given(st.text(st.sampled_from('BWKbwk:,-.0123456789 HF"x'), max_size=40) | st.text(max_size=20))
def test_any_text_is_a_position_or_a_position_error(text):
    try:
        position = Position.from_fen(text)
    except PositionError:
        return
    assert Position.from_fen(position.fen).key == position.key


@settings(max_examples=80)
@given(setups(), st.text(st.sampled_from("0123456789-x: "), max_size=12) | st.text(max_size=8))
def test_any_text_is_a_move_or_a_move_error(position, text):
    try:
        move = position.find_move(text)
    except MoveError:
        return
    assert move in position.legal_moves()
