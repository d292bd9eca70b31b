"""Every registered game, at random, through the whole contract: rules, constants, positions, text, files."""

import pickle
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from numba import njit

from ckai.game import MoveError
from ckai.models.encodings import encoding_type
from ckai.models.network import NetworkSettings
from ckai.rl.evaluators.rollout import RolloutEvaluator, UniformEvaluator
from ckai.rl.games import contract
from ckai.rl.games.contract import as_state, game
from ckai.rl.games.registry import game_names, get_game, register_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.run.config import RunConfig
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import memory, play_games
from ckai.rl.selfplay.shards import to_table

GAMES = [get_game(name) for name in game_names()]


def slow_for(*names):
    """All games, these marked as slow: compiling their searches takes long."""
    marked = {name: pytest.param(get_game(name), marks=pytest.mark.slow) for name in names}
    return pytest.mark.parametrize(
        "spec", [marked.get(spec.name, spec) for spec in GAMES], ids=lambda spec: spec.name
    )


MAX_PLIES = 300
PIECES = {"b": 1, "B": 3, "w": -1, "W": -3, "": 0}
"""What networks see of a piece when Black is to move."""


@njit(cache=True)
def _look(game, state, actions, board):
    """Everything that the contract says of one state; the copy has gone through an array."""
    count = contract.legal(game, state, actions)
    over, value = contract.outcome(game, state, count)
    contract.encode(game, state, board)
    words = np.zeros(len(state), np.int64)
    contract.store_state(words, state)
    copied = contract.load_state(game, words)
    window, proof = contract.repetition_window(game, state), contract.tablebase_value(game, state)
    return count, over, value, contract.key(game, copied), window, proof


@njit(cache=True)
def _constants(game):
    return contract.repetitions(game), contract.max_legal_actions(game)


@njit(cache=True)
def _play(game, state, action):
    """The state after an action, whether the turn passed, whether it may repeat another, and its key."""
    after, passed = contract.play(game, state, action)
    return after, passed, contract.may_repeat(game, state, action), contract.key(game, after)


def look(spec, state):
    rules = spec.rules
    actions, board = np.empty(rules.MAX_LEGAL_ACTIONS, np.uint8), np.empty(rules.POSITION_BYTES, np.int8)
    count, over, value, key, *rest = _look(rules, state, actions, board)
    return actions[:count].tolist(), bool(over), float(value), as_state(key), *rest, board


def without_repetitions(spec, state, actions, keys):
    """The actions that the rules allow after states with these keys."""
    after = {action: _play(spec.rules, state, action)[2:] for action in actions}
    return [action for action, (may, key) in after.items() if not (may and as_state(key) in keys)]


@slow_for("go", "connect4")
@pytest.mark.parametrize("seed", range(3))
def test_random_games_keep_the_contract(spec, seed):
    rng = np.random.default_rng(seed)
    rules = spec.rules
    repetitions, most = _constants(rules)
    start = tuple(np.int64(word) for word in spec.state(spec.position()))
    assert len(start) == spec.rules.STATE_WORDS
    assert most == rules.MAX_LEGAL_ACTIONS <= spec.num_actions <= 256
    assert repetitions >= 0
    state, played, hops, keys = start, spec.game(), [], []
    for _ in range(MAX_PLIES):
        actions, over, value, key, window, (proof, plies), _ = look(spec, state)
        position = spec.position(as_state(state))
        assert as_state(spec.state(position)) == as_state(state)
        assert position.key == spec.position(as_state(state)).key
        assert actions == sorted(set(actions))
        assert all(0 <= action < spec.num_actions for action in actions)
        assert len(key) == spec.rules.STATE_WORDS
        assert 0 <= window <= rules.history
        if spec.name != "go" and (key in keys[-window:] if window else False):
            assert repetitions > 0
        keys.append(key)
        assert 0 <= proof <= 3
        assert plies >= 0
        assert value in (-1.0, 0.0, 1.0)
        if over:
            outcome = position.outcome() if hasattr(position, "outcome") else played.outcome()
            if outcome is not None:
                winner = {1.0: position.black, -1.0: not position.black}.get(value)
                assert outcome.winner == (None if winner is None else "black" if winner else "white")
            break
        assert actions
        allowed = without_repetitions(spec, state, actions, keys)
        if not hops:
            assert {move.actions[0] for move in played.position.legal_moves()} == set(allowed)
        action = allowed[rng.integers(len(allowed))]
        hops.append(action)
        state, passed, *_ = _play(rules, state, action)
        assert spec.position(as_state(state)).black == (position.black != bool(passed))
        move = played.position.move_of(hops)
        assert (move is not None) == bool(passed)
        if move is not None:
            assert tuple(move.actions) == tuple(hops)
            assert move in played.position.legal_moves()
            played.push(str(move))
            hops = []
            assert played.position.key == spec.position(as_state(state)).key
    text = spec.to_pdn(played, {"Event": "contract"}, "*")
    assert '[Event "contract"]' in text


@slow_for("go")
@pytest.mark.parametrize("seed", range(2))
def test_people_see_and_type_every_position(spec, seed, tmp_path):
    """The board, the squares of a move, typed moves, positions and games as text."""
    rng = np.random.default_rng(seed)
    game = spec.game()
    layout = spec.layout
    assert len(spec.column_labels) in (0, layout.columns)
    assert len(spec.row_labels) in (0, layout.rows)
    assert spec.read_move(game.position, spec.move_example) in game.position.legal_moves()
    assert len(set(spec.side_names)) == 2
    while (moves := game.position.legal_moves()) and len(game.moves) < MAX_PLIES:
        position = game.position
        again = spec.read_position(spec.position_text(position))
        assert again.key == position.key
        pieces, sign, view = spec.pieces(position), 1 if position.black else -1, spec.view(position)
        seen = [sign * PIECES[pieces.get(square, "")] for square in view]
        assert spec.encoded(position)[: len(view)].tolist() == seen
        again = spec.set_up(pieces, black=position.black)
        assert (spec.pieces(again), again.black) == (pieces, position.black)
        assert all(spec.read_move(position, str(move)) == move for move in moves)
        move = moves[rng.integers(len(moves))]
        squares = spec.path(position, move)
        assert set(squares) <= spec.layout.squares.keys()
        assert squares or spec.pieces(position) == spec.pieces(position.push(move))  # a pass
        game.push(move)
    path = tmp_path / "games.txt"
    outcome = game.outcome()
    result = "*" if outcome is None else outcome.result
    path.write_text(2 * spec.to_pdn(game, {"Event": "contract"}, result))
    loaded, problem = spec.read_game(path, 2)
    assert (loaded.moves, problem) == (game.moves, "")
    assert (loaded.headers["Event"], loaded.headers["Result"]) == ("contract", result)
    for number in (0, 3):
        with pytest.raises(ValueError, match=f"expected game 1 to 2, found {number}"):
            spec.read_game(path, number)
    assert game.history == game.positions[:-1]
    last = game.moves[-1]
    assert game.pop() == last
    assert game.push(last) == last


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: spec.name)
def test_what_people_type_wrongly_is_one_line(spec):
    for text in ("", "x", "99", "\x1b[31m", "1-1-1", "\u2460", "9" * 500):
        with pytest.raises(MoveError) as caught:
            spec.read_move(spec.position(), text)
        message = str(caught.value)
        assert len(message) < 160
        assert message.isprintable()
        with pytest.raises(ValueError, match="expected"):
            spec.read_position(text)


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: spec.name)
def test_named_openings_can_be_played(spec):
    for name, moves in spec.named_openings.items():
        game = spec.game()
        for move in moves:
            assert str(game.push(move)) == move
        assert spec.opening_name(game) == name
    assert len(set(spec.named_openings.values())) == len(spec.named_openings)


@slow_for("go", "connect4")
def test_symmetries_change_nothing(spec):
    rng = np.random.default_rng(0)
    for symmetry in spec.symmetries:
        assert sorted(symmetry.squares) == list(range(spec.board_bytes))
        assert sorted(symmetry.actions) == list(range(spec.num_actions))
        state = other = spec.state(spec.position())
        for _ in range(12):
            (actions, *ending, _, _, _, board), turned = look(spec, state), look(spec, other)
            assert turned[-1].tolist() == [*board[list(symmetry.squares)], *board[spec.board_bytes :]]
            assert turned[0] == sorted(symmetry.actions.index(action) for action in actions)
            assert list(turned[1:3]) == ending
            if ending[0]:
                break
            action = actions[rng.integers(len(actions))]
            state = _play(spec.rules, state, action)[0]
            other = _play(spec.rules, other, symmetry.actions.index(action))[0]


@slow_for("go", "connect4")
def test_files_and_networks_have_the_sizes_of_the_game(spec):
    encoding = encoding_type(spec.encoding or NetworkSettings().encoding)
    assert spec.name == encoding.GAME
    assert spec.num_actions == encoding.NUM_ACTIONS
    assert encoding.SHAPE[0] * encoding.SHAPE[1] * encoding.BYTES_PER_SQUARE == spec.board_bytes
    sample = encoding.sample(20, np.random.default_rng(0))
    assert (sample.shape, sample.dtype) == ((20, spec.rules.POSITION_BYTES), np.int8)
    assert encoding.legal_mask(sample).shape == (20, spec.num_actions)
    assert encoding.legal_mask(sample).any(1).all()
    assert spec.schema.field("board").type.list_size == spec.board_bytes
    assert spec.schema.field("legal").type == pa.binary(spec.legal_mask_bytes)
    assert 8 * spec.legal_mask_bytes >= spec.num_actions
    boards = np.stack([spec.encoded(position) for position in spec.openings()[:20]])
    for evaluator in (UniformEvaluator(spec.num_actions), RolloutEvaluator(spec.num_actions)):
        logits, values = evaluator.evaluate(boards)
        assert logits.shape == (len(boards), spec.num_actions)
        assert (np.abs(values) <= 1).all()


@slow_for("go", "connect4", "tictactoe")
def test_self_play_of_every_game(spec):
    settings = RunConfig.defaults_for(spec.name).selfplay
    config = SelfPlayConfig(
        sims=6, in_flight=4, groups=1, tables=0, temperature_plies=settings.temperature_plies
    )
    games = []
    play_games(UniformEvaluator(spec.num_actions), config, range(4), seed=1, on_game=games.append, spec=spec)
    table = to_table(games)
    assert table.schema.equals(spec.schema)
    assert {game.number for game in games} == set(range(4))
    assert memory(config, spec) > 0
    for each in games:
        assert len(each.replay().moves) == each.header.plies


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: spec.name)
def test_a_game_that_crossed_a_process_is_the_same_game(spec):
    copy = pickle.loads(pickle.dumps(spec))
    assert copy == spec
    assert hash(copy) == hash(spec)
    assert copy.openings() == spec.openings()
    assert spec.name in repr(copy)


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({"num_actions": 257}, "num_actions from 1 to 256, found 257"),
        ({"num_actions": 256, "max_legal_actions": 256}, "max_legal_actions from 1 to 255, found 256"),
        ({"max_legal_actions": 5}, "max_legal_actions from 1 to 4, found 5"),
    ],
)
def test_constants_out_of_range_are_refused(constants, message):
    fitting = {"num_actions": 4, "position_bytes": 6, "max_legal_actions": 4}
    with pytest.raises(ValueError, match=message):
        game(**fitting | constants)


def test_rules_that_lack_a_function_are_refused():
    @game(num_actions=4, position_bytes=6, max_legal_actions=4)
    class Half(NamedTuple):
        pass

    class HalfSpec(GameSpec):
        name = "half"
        rules = Half()

    contract.implements(contract.legal, Half)(lambda game, state, out: 0)
    with pytest.raises(ValueError, match=r"game half: .* found none of play, outcome, encode"):
        register_game(HalfSpec())
    assert "half" not in game_names()


@pytest.mark.parametrize("spec", GAMES, ids=lambda spec: spec.name)
def test_positions_that_cannot_be_set_up_are_refused(spec):
    with pytest.raises(ValueError, match="found"):
        spec.set_up({max(spec.layout.squares) + 1: "b"}, black=True)
