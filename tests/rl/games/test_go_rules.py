"""9x9 Go against a slow twin: legal moves, captures, superko, scores, on boards of every kind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_go import SlowGo, area

from ckai.game import MoveError
from ckai.rl.games.go import PASS, SPEC, GoMove


def board_of(position):
    return {n - 1: piece for n, piece in SPEC.pieces(position).items()}


def actions_of(position):
    return [move.action for move in position.legal_moves()]


def narrow(draws, actions):
    """An action, mostly in a corner of the board, where kos and captures are frequent."""
    inside = [action for action in actions if action != PASS and action % 9 < 4 and action < 36]
    choice = inside if inside and draws[0] else actions
    return choice[draws[1] % len(choice)]


def compare(game, slow):
    position = game.position
    assert board_of(position) == slow.boards[-1]
    assert position.black == (slow.side == "b")
    assert position.area == area(slow.boards[-1])
    assert actions_of(position) == ([] if slow.over() else slow.legal())
    assert (game.outcome() is not None) == slow.over()


@settings(max_examples=6)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 10_000)), max_size=170))
def test_games_agree_with_the_twin(draws):
    game, slow = SPEC.game(), SlowGo()
    for draw in draws:
        compare(game, slow)
        if slow.over():
            break
        action = narrow(draw, slow.legal())
        game.push(GoMove(action))
        slow.play(action)
    compare(game, slow)


KO = "E4 E3 D5 D4 F5 F4 E6 E5"
"""White takes the stone on E4 in the end."""
FOUR_KOS = "A1 D1 B2 C2 F1 J1 G2 H2 A9 D9 B8 C8 F9 J9 G8 H8 C1 B9 H1 G9"


def played(moves):
    game = SPEC.game()
    for move in moves.split():
        game.push(move)
    return game


def test_a_ko_may_be_retaken_after_moves_elsewhere():
    game = played(KO)
    with pytest.raises(MoveError, match="E4: it repeats an earlier position"):
        game.push("E4")
    assert str(played(KO + " A9 A1").push("E4")) == "E4"


def test_two_passes_end_the_game():
    game = played(KO + " pass pass")
    assert str(game.outcome()) == "White won: by 9 points"
    with pytest.raises(MoveError, match="A1: the game is over"):
        game.push("A1")


@pytest.mark.parametrize("seed", range(3))
def test_fights_over_four_kos_agree_with_the_twin(seed):
    """Boards come again after more plies than a state remembers; passes never repeat."""
    rng = np.random.default_rng(seed)
    game, slow = played(FOUR_KOS), SlowGo()
    for move in game.moves:
        slow.play(move.action)
    while not slow.over():
        position, legal = game.position, slow.legal()
        assert actions_of(position) == legal
        stones = len(SPEC.pieces(position))
        takes = [a for a in legal[:-1] if len(SPEC.pieces(position.push(GoMove(a)))) <= stones]
        action = int(rng.choice(takes or legal[-5:]))
        game.push(GoMove(action))
        slow.play(action)
    assert game.outcome() is not None


def test_suicide_is_illegal():
    game = played("A2 J9 B1")
    with pytest.raises(MoveError, match="A1: the stone would have no liberty"):
        game.push("A1")
    with pytest.raises(MoveError, match="A2: there is a stone"):
        game.push("A2")


@pytest.mark.parametrize(
    ("komi", "text"),
    [
        (9.0, "drawn: two passes, equal points"),
        (8.5, "Black won: by 0.5 points"),
        (9.5, "White won: by 0.5 points"),
    ],
)
def test_komi_decides(komi, text):
    """Black's wall on the fifth row from below has 45 points, White's on the sixth 36."""
    rows = ["." * 9] * 3 + ["w" * 9, "b" * 9] + ["." * 9] * 4
    position = SPEC.with_komi(komi).read_position("/".join(rows) + " b 1")
    assert position.area == 9
    assert position.outcome() is None
    assert str(position.push(GoMove(PASS)).outcome()) == text


def test_the_longest_game_is_scored_as_it_stands():
    spec = SPEC.with_komi(0.5)
    state = np.array(played("E5 A1").position.state)
    state[4] = (state[4] & (1 << 20) - 1) | 161 << 20
    position = spec.position(tuple(state.tolist()))
    assert position.outcome() is None
    after = position.push(GoMove(80))
    assert after.plies == 162
    assert str(after.outcome()) == "White won: by 1.5 points"


def test_texts_of_positions():
    text = "........w/........./........./........./....b..../........./........./........./b........ w 1"
    position = SPEC.read_position(text)
    assert SPEC.position_text(position) == text
    assert (position.black, position.passes) == (False, 1)
    with pytest.raises(ValueError, match="expected a liberty for every chain"):
        SPEC.read_position("........./" * 7 + "w......../bw....... b")
