"""How games of self-play ended, in their rows, and the heads that learn it over the generations."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from make_rows import random_games, with_endings, with_search, write

from ckai.models.checkpoint import load_checkpoint, save_checkpoint
from ckai.models.registry import build
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.contract import as_state
from ckai.rl.games.go.spec import GoSpec
from ckai.rl.games.registry import game_names, get_game
from ckai.rl.loop.config import LearnConfig, RunConfig
from ckai.rl.loop.dashboard import flatten
from ckai.rl.loop.learning import learn
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.recording import UNDECIDED
from ckai.rl.selfplay.rows import to_table
from ckai.rl.selfplay.shards import merge, read_table, write_table
from ckai.rl.selfplay.workers import play_games


def played(spec, games=4, evaluator=None, **settings):
    config = SelfPlayConfig(**({"sims": 6, "in_flight": 4, "groups": 1, "tables": 0} | settings))
    found = []
    play_games(
        evaluator or UniformEvaluator(spec.num_actions),
        config, range(games), seed=1, on_game=found.append, spec=spec,
    )  # fmt: skip
    return sorted(found, key=lambda game: game.number)


def owners(spec, position, last):
    """Who has each square, in the view of the mover of `position`, by the pieces as people see them."""
    pieces, mine = spec.pieces(last), "b" if position.black else "w"
    return [0 if at not in pieces else 1 if pieces[at].lower() == mine else -1 for at in spec.view(position)]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("go", "connect4") else name
        for name in game_names()
    ],
)
def test_rows_say_how_their_game_went_on(name):
    spec = get_game(name)
    games = played(spec, evaluator=RolloutEvaluator(game=spec.rules))
    table = to_table(games, 1)
    assert table.schema.equals(spec.schema)
    rows = iter(table.to_pylist())
    for game in games:
        last = game.replay().position
        assert game.result != UNDECIDED
        for recorded in game.rows:
            row = next(rows)
            assert row["plies_left"] == game.plies - row["ply"]
            position = spec.position(as_state(recorded["state"]))
            found = np.array(row["ownership"])
            if name == "go":
                score = last.area if position.black else -last.area
                assert found.sum() == score
                stones = np.array(owners(spec, position, last))
                assert (found[stones != 0] == stones[stones != 0]).all()
            else:
                assert found.tolist() == owners(spec, position, last)


def test_an_area_of_go_by_hand():
    text = """
        . X . . . . . . .
        X X . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . .
        . . . . . . . . O
        . . . . . . . O .
        . . . . . . . O O"""
    board = np.array([{"X": 1, "O": -1, ".": 0}[c] for c in text.split()], np.int8)
    expected = board.copy()
    expected[0], expected[9 * 7 + 8] = 1, -1
    assert GoSpec().owners(board[None])[0].tolist() == expected.tolist()
    assert not GoSpec().owners(np.zeros((1, 81), np.int8)).any()


def test_the_end_of_games_that_were_not_played_to_it_is_not_known():
    spec = get_game("checkers")
    game = played(spec, 1, RolloutEvaluator())[0]
    for cut in (replace(game, resigned=True), replace(game, result=UNDECIDED)):
        found = to_table([cut, replace(game, number=game.number + 1)], 1)
        n = len(cut.rows)
        assert found["plies_left"][:n].null_count == n
        assert found["plies_left"][n:].null_count == 0
        assert not np.any(found["ownership"][:n].to_pylist())
        assert found["ownership"].null_count == 0  # which pyarrow before 26 does not read


def test_games_end_where_the_tables_know_them():
    games = played(get_game("checkers"), 8, RolloutEvaluator(), tables=3)
    table = to_table(games, 1).to_pandas()
    assert any(game.adjudicated for game in games)
    for game in games:
        if game.adjudicated:
            rows = table[table["game"] == game.number]
            assert rows["plies_left"].tolist() == [game.plies - ply for ply in rows["ply"]]
            assert 2 <= np.count_nonzero(rows["ownership"].iloc[-1]) <= 3


def test_shards_of_before_and_of_now_are_merged(tmp_path):
    games = played(get_game("tictactoe"), 4)
    old = to_table(games[:2], 1).drop_columns(["plies_left", "ownership"])
    merged = merge([old, to_table(games[2:], 1)])
    known = [len(game.rows) for game in games]
    assert merged["plies_left"].null_count == sum(known[:2])
    write_table(merged, tmp_path / "rows.parquet")
    written = read_table(tmp_path / "rows.parquet")
    assert written.drop_columns("ownership").equals(merged.drop_columns("ownership"))
    assert written["ownership"].null_count == 0
    assert not np.any(written["ownership"][: sum(known[:2])].to_pylist())
    assert np.any(written["ownership"][sum(known[:2]) :].to_pylist())


def trained(folder, old, rows, **settings):
    """The checkpoint after learning rows from `old`."""
    folder.mkdir()
    measured = learn(
        old, [rows], (1.0,), folder / "new.ckpt",
        LearnConfig(**({"batch_size": 32, "epochs": 1} | settings)),
        generation=1, games=8, seed=1, split_seed=1, game="checkers", run="r", on_event=lambda event: None,
    )  # fmt: skip
    return load_checkpoint(folder / "new.ckpt"), measured


HEADS = {"moves_left_weight": 0.1, "ownership_weight": 0.5}


@pytest.fixture
def old(tmp_path):
    torch.manual_seed(0)
    save_checkpoint(tmp_path / "old.ckpt", build("resnet", {"channels": 4, "blocks": 1}))
    return tmp_path / "old.ckpt"


@pytest.fixture
def rows(tmp_path):
    return write(tmp_path / "rows.parquet", with_endings(with_search(random_games(8))))


def test_heads_go_on_from_one_generation_to_the_next(tmp_path, old, rows):
    plain, measured = trained(tmp_path / "plain", old, rows)
    assert not plain.auxiliary
    assert not any("moves_left" in name or "ownership" in name for name in measured)
    first, measured = trained(tmp_path / "first", old, rows, ema=0.9, **HEADS)
    assert measured["train_moves_left_error"] > 0
    assert 0 < measured["train_ownership_accuracy"] < 1
    assert {name.partition(".")[0] for name in first.auxiliary} == {"moves_left", "ownership"}
    assert first.network().state_dict().keys() == plain.weights.keys()
    assert any(not torch.equal(plain.weights[name], first.weights[name]) for name in plain.weights)
    second, better = trained(tmp_path / "second", first.path, rows, **HEADS)
    assert better["train_moves_left_loss"] < measured["train_moves_left_loss"]
    assert better["train_ownership_loss"] < measured["train_ownership_loss"]
    # A head whose weight is 0 is dropped, and a new one begins beside the one that is there.
    dropped, _ = trained(tmp_path / "dropped", second.path, rows, ownership_weight=0.5)
    assert {name.partition(".")[0] for name in dropped.auxiliary} == {"ownership"}
    assert not trained(tmp_path / "none", second.path, rows)[0].auxiliary
    both, _ = trained(tmp_path / "both", dropped.path, rows, lr=1e-12, weight_decay=0.0, **HEADS)
    assert torch.allclose(
        both.auxiliary["ownership.out.2.weight"], dropped.auxiliary["ownership.out.2.weight"]
    )
    assert "moves_left.out.weight" in both.auxiliary


def test_the_metrics_of_a_run_have_the_heads_where_it_trains_some():
    row = flatten({"learn": {"train_moves_left_error": 3.0}})
    assert row["train_moves_left_error"] == 3
    assert row["heldout_ownership_loss"] is None


def test_rows_of_before_train_no_head(tmp_path, old):
    rows = write(tmp_path / "rows.parquet", with_search(random_games(8)))
    table = pq.read_table(rows)
    pq.write_table(table.drop_columns(["plies_left", "ownership"]), rows)
    plain, _ = trained(tmp_path / "plain", old, rows, weight_decay=0.0)
    both, measured = trained(tmp_path / "both", old, rows, weight_decay=0.0, **HEADS)
    assert not any("moves_left" in name or "ownership" in name for name in measured)
    assert all(torch.equal(both.weights[name], weight) for name, weight in plain.weights.items())


def test_a_training_of_other_heads_is_set_aside(tmp_path, old, rows, monkeypatch):
    events = []

    def run(**settings):
        learn(
            old, [rows], (1.0,), tmp_path / "new.ckpt", LearnConfig(batch_size=32, epochs=2, **settings),
            generation=1, games=8, seed=1, split_seed=1, game="checkers", run="r", on_event=events.append,
        )  # fmt: skip

    from ckai.rl.loop import learning

    whole = learning.save_checkpoint

    def cut(path, *args, **options):
        whole(path, *args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(learning, "save_checkpoint", cut)
    with pytest.raises(KeyboardInterrupt):
        run(**HEADS)
    monkeypatch.setattr(learning, "save_checkpoint", whole)
    assert (tmp_path / "training.ckpt").exists()
    run()
    (warning,) = [event.info["warning"] for event in events if "warning" in event.info]
    assert "expected a training of the auxiliary heads none, found moves_left, ownership" in warning
    assert not load_checkpoint(tmp_path / "new.ckpt").auxiliary


def test_a_run_keeps_the_heads_of_its_first_network_and_refuses_networks_without_a_trunk(tmp_path, old, rows):
    first, _ = trained(tmp_path / "first", old, rows, **HEADS)
    config = RunConfig(learn=LearnConfig(**HEADS))
    run = Run.create(tmp_path / "run", first.path, config)
    kept = load_checkpoint(run.path(0, "network.ckpt")).auxiliary
    assert all(torch.equal(kept[name], weight) for name, weight in first.auxiliary.items())
    for name in ("swift", "branches"):
        with pytest.raises(
            ValueError, match=f"moves_left_weight and ownership_weight 0 for the network {name}"
        ):
            Run.create(tmp_path / name, build(name), config)
        assert not (tmp_path / name).exists()
