"""Small games and 9x9 Go through the whole loop: positions, rows, networks, runs, matches, commands."""

import json
import re

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

from ckai.cli.shared.options import GAMES
from ckai.datasets.data_module import RowsDataModule
from ckai.datasets.reader import RowFile
from ckai.datasets.schema import DatasetError
from ckai.game import MoveError
from ckai.models.checkpoint import CheckpointError, load_network, save_checkpoint
from ckai.models.inference.backends import make_evaluator, sample_positions
from ckai.models.network import build, names
from ckai.rl.engine.base import Engine
from ckai.rl.engine.loading import game_of
from ckai.rl.games.registry import game_names, get_game
from ckai.rl.games.spec import Solver
from ckai.rl.matches.openings import draw_openings
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.run.run import Run, RunError
from ckai.rl.selfplay.config import SelfPlayConfig, StartConfig
from ckai.rl.selfplay.shards import games_as_pdn

STONES = ["tictactoe", "connect4"]


def solve(position):
    return Solver().solve(position).value


def small(game, **settings):
    config = {
        "games": 6,
        "selfplay": SelfPlayConfig(sims=8, in_flight=4, groups=2, max_plies=60, tables=0),
        "learn": LearnConfig(epochs=1, batch_size=32),
        "gate": GateConfig(games=4, rule="none"),
    }
    return RunConfig(game=game, **{**config, **settings})


def network(game, name="mlp"):
    sizes = {
        "mlp": {"hidden": 16},
        "swift": {"hidden": 16},
        "senet": {"channels": 4, "blocks": 1},
        "resnet": {"channels": 4},
    }
    return build(name, {"encoding": game, **sizes.get(name, {"hidden": 16, "channels": 4})})


@pytest.mark.parametrize("game", [*STONES, "go"])
@pytest.mark.parametrize("name", names())
def test_every_architecture_evaluates_stones(game, name):
    if (game, name) == ("go", "swift"):  # it adds up weights of pieces; the planes of Go have the plies
        with pytest.raises(ValueError, match="expected an encoding with binary planes of pieces, found 'go'"):
            network(game, name)
        return
    net = network(game, name).eval()
    boards = sample_positions(20, net.encode)
    logits, values = make_evaluator(net, "torch").evaluate(boards)
    assert logits.shape == (20, net.encode.NUM_ACTIONS)
    assert values.shape == (20,)
    assert np.abs(values).max() <= 1


def test_openings_of_stones_are_all_positions_after_three_plies():
    # 9 * 8 * 7 ways; the first player's two stones come in two orders.
    assert len(get_game("tictactoe").openings()) == 9 * 8 * 7 // 2
    connect4 = get_game("connect4").openings()
    assert len({position.key for position in connect4}) == len(connect4) == 238
    assert len(draw_openings(20, 1, get_game("connect4"))) == 20


def test_tic_tac_toe_is_a_draw_and_its_mistakes_are_known():
    first = get_game("tictactoe").position()
    assert solve(first) == 0
    corner = first.push(first.find_move("1"))
    assert [solve(corner.push(move)) == 0 for move in corner.legal_moves()] == [
        str(move) == "5" for move in corner.legal_moves()
    ]
    with pytest.raises(MoveError, match="expected one of the moves 2, 3"):
        corner.find_move("1")


def walk(choose, position, black, lost):
    """Every game of a player against every possible play of the other; `lost` collects the defeats."""
    outcome = position.outcome()
    if outcome is not None:
        if outcome.winner == ("white" if black else "black"):
            lost.append(position)
    elif position.black == black:
        walk(choose, position.push(choose(position)), black, lost)
    else:
        for move in position.legal_moves():
            walk(choose, position.push(move), black, lost)


@pytest.mark.slow
@pytest.mark.parametrize("game", STONES)
def test_a_run_learns_and_continues(tmp_path, game, ckai):
    folder = tmp_path / "run"
    run = Run.create(folder, network(game), small(game, start=StartConfig(opening_share=0.5)))
    run.go(1, lambda _: None)
    run = Run.open(folder)
    assert run.config.game == game
    run.go(2, lambda _: None)
    rows = pq.read_table(run.shards(2)[0])
    assert rows.schema.field("board").type.list_size == network(game).encode.board_size
    data = RowsDataModule(run.shards(2), heldout=0.0, game=game)
    batch = next(data.epoch(0))
    assert batch["policy"].sum(1).sub(1).abs().max() < 1e-5
    assert not batch["policy"][:, get_game(game).rules.NUM_ACTIONS :].any()
    texts = [text for path in run.shards() for text in games_as_pdn(path, run.spec)]
    assert all(text.count("[Event ") == 1 for text in texts)
    assert ckai("games", folder, "-o", tmp_path / "all.pdn")[0] == 0
    assert (tmp_path / "all.pdn").read_text().count("[Event ") == len(texts)
    status, _, err = ckai("games", folder, "--position", "B:W18:B1")
    assert (status, "expected checkers, to search for positions" in err) == (1, True)
    assert len(texts) == 2 * 6
    assert run.history()[1]["match"]["games"] == 4
    assert game == load_network(folder / "best.ckpt", game).encode.GAME


@pytest.mark.slow
def test_rows_of_another_game_are_refused(tmp_path):
    run = Run.create(tmp_path / "run", network("tictactoe"), small("tictactoe"))
    run.go(1, lambda _: None)
    with pytest.raises(DatasetError, match="expected rows of checkers, found rows of tictactoe"):
        RowFile(run.shards()[0])


def test_what_is_of_another_game_is_refused(tmp_path):
    run = Run.create(tmp_path / "run", network("tictactoe"), small("tictactoe"))
    with pytest.raises(CheckpointError, match="expected a network for checkers, found one for tictactoe"):
        load_network(run.network)
    with pytest.raises(RunError, match="expected a network for connect4, found one for tictactoe"):
        Run.create(tmp_path / "other", network("tictactoe"), small("connect4"))
    with pytest.raises(ValueError, match="no tablebases"):
        RunConfig(game="connect4")
    with pytest.raises(ValueError, match="one of the games"):
        get_game("chess")
    for name in ("alphabeta@3", "hub:program"):
        with pytest.raises(ValueError, match="expected an engine of connect4, found one of checkers"):
            Engine.load(name, game=get_game("connect4"))
    with pytest.raises(ValueError, match="expected a game that can be solved, found checkers"):
        Engine.load("perfect")


def test_the_game_of_players_is_that_of_their_network(tmp_path):
    path = tmp_path / "net.ckpt"
    save_checkpoint(path, network("connect4"))
    assert game_of(["rollout@10", f"{path}@5"]) == "connect4"
    assert game_of(["rollout@10", "random"]) is None
    assert set(game_names()) == {"checkers", "connect4", "go", "tictactoe"} == set(GAMES)


@pytest.mark.slow
def test_the_commands_play_small_games(tmp_path, ckai):
    run, pdn = tmp_path / "run", tmp_path / "games.pdn"
    settings = "--model mlp --set hidden=16 --generations 1 --games 8 --sims 8 --gate-games 2"
    settings += " --setting selfplay.groups=1"
    begin = ["selfplay", "--game", "tictactoe", "--init", "none", "--run", run, *settings.split()]
    _, out, _ = ckai(*begin, "--evaluator", "torch", "--json")
    assert json.loads(out)["generations"] == 1
    match = ["match", f"{run}@policy", "perfect", "--games", "8", "--openings", "start", "-o", pdn]
    _, out, _ = ckai(*match, "--json")
    assert json.loads(out)["games"] == 8
    assert len(re.findall(r"^1\. \d \d", pdn.read_text(), re.M)) == 8
    code, _, err = ckai("selfplay", "--init", run / "best.ckpt", "--game", "connect4")
    assert code == 1
    assert "expected a network for connect4, found one for tictactoe" in err
    new = ["--init", "none", "--model", "mlp", "--set", "encoding=planes"]
    code, _, err = ckai("selfplay", "--game", "connect4", *new)
    assert (code, err) == (
        1,
        "ckai: error: expected a network for connect4, found one for checkers\n",
    )


@pytest.mark.slow
def test_tic_tac_toe_is_learned_perfectly_from_nothing(tmp_path):
    """Some minutes on two cores; the bare policy then loses to no play at all."""
    torch.manual_seed(0)
    config = RunConfig.defaults_for("tictactoe")
    run = Run.create(tmp_path / "run", build("mlp", {"encoding": "tictactoe", "hidden": 128}), config)
    run.go(15, lambda _: None)
    game_spec = get_game("tictactoe")
    engine = Engine.load(f"{run.folder}@policy", game=game_spec)
    lost = []
    for black in (True, False):
        walk(lambda position: engine.play(position).move, game_spec.position(), black, lost)
    assert not lost


@pytest.mark.parametrize(
    ("game", "rows"),
    [
        ("tictactoe", "bbb/ww./..w"),
        ("connect4", "......./......./......./......./www..../bbbb..w"),
    ],
)
def test_a_position_after_a_line_is_refused(game, rows):
    with pytest.raises(ValueError, match="expected no line of the side to move"):
        get_game(game).read_position(rows)


def test_a_setup_that_is_none_is_refused(tmp_path):
    path = tmp_path / "game.txt"
    path.write_text('[Setup "......b"]\n\n*\n')
    with pytest.raises(ValueError, match=r"game\.txt: game 1: ply 0: expected 6 rows of 7 squares"):
        get_game("connect4").read_game(path, 1)
