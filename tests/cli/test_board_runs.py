"""Runs at the board: the list, one followed while its files change, its games."""

import json
import shutil

import pytest
from board_runs import played_run
from board_tab import serving, tab

from ckai.cli.web.runs import _listed
from ckai.datasets.files import locked
from ckai.rl.games.registry import get_game
from ckai.rl.loop.folder import LOCK
from ckai.rl.loop.run import Run
from ckai.rl.loop.runs import generation_games, progress_of, split_games
from ckai.rl.selfplay.shards import games_so_far


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    played_run(folder, "checkers", "planes")
    training = folder / "pretrained.run"
    training.mkdir()
    (training / "config.json").write_text(json.dumps({"model": "cnn2x2", "train": {"epochs": 3}}))
    (training / "metrics.csv").write_text(
        "epoch,seconds,train_policy_loss,heldout_top1,heldout_value_mse\n1,2,1.5,0.3,nan\n2,4,1.25,0.4,0.5\n"
    )
    return folder


@pytest.fixture(scope="module", autouse=True)
def _look_often():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ckai.cli.web.runs.POLL_SECONDS", 0.05)
        yield


@pytest.fixture(scope="module")
def client(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        with serving(folder) as client:
            yield client


def test_runs_are_listed(client):
    with tab(client) as here:
        runs = {row["run"]: row for row in here.do("runs")["runs"]}
        assert runs.keys() == {"runs/checkers", "pretrained.run"}
        assert runs["runs/checkers"] == {
            "run": "runs/checkers",
            "kind": "selfplay",
            "game": "checkers",
            "status": "finished",
            "text": "2 of 2 generations",
        }
        assert runs["pretrained.run"]["text"] == "cnn2x2: 2 of 3 epochs"
        assert runs["pretrained.run"]["kind"] == "pretraining"


def test_a_run_of_self_play_is_shown(client):
    with tab(client) as here:
        here.do("follow", run="runs/checkers")
        run = here.until("run")
        assert (run["status"], run["game"], run["problem"]) == ("finished", "checkers", None)
        assert [match["generation"] for match in run["elo"]] == [1, 2]
        for match in run["elo"]:  # an end without a bound is null
            assert match["low"] is None or match["low"] <= match["elo"]
            assert match["high"] is None or match["elo"] <= match["high"]
        curves = {curve["name"]: curve for curve in run["curves"]}
        assert curves["Losses"]["x"] == [1, 2]
        assert all(len(series["y"]) == 2 for curve in run["curves"] for series in curve["series"])
        assert run["games"]["generation"] == 2
        assert [row["index"] for row in run["games"]["rows"]] == [0, 1, 2, 3]
        assert run["settings"]["selfplay.sims"] == 4
        json.dumps(run, allow_nan=False)


def test_a_training_is_shown(client):
    with tab(client) as here:
        here.do("follow", run="pretrained.run")
        run = here.until("run")
        assert (run["status"], run["games"], run["elo"]) == ("unfinished", None, [])
        losses, accuracy = run["curves"]
        assert losses["x"] == accuracy["x"] == [1, 2]
        assert losses["series"] == [
            {"name": "policy, training", "y": [1.5, 1.25]},
            {"name": "value against the result, held out", "y": [None, 0.5]},
        ]
        assert accuracy["series"] == [{"name": "first, held out", "y": [0.3, 0.4]}]


def test_a_run_is_followed_while_it_goes_on(client, folder):
    with tab(client) as here:
        here.do("follow", run="pretrained.run")
        here.until("run")
        metrics = folder / "pretrained.run" / "metrics.csv"
        before = metrics.read_text()
        metrics.write_text(before + "3,6,1.0,0.5,0.25\n")
        run = here.until("run")
        assert run["curves"][0]["x"] == [1, 2, 3]
        metrics.write_text(before)
        here.do("unfollow")


def test_the_games_of_a_generation_are_opened(client):
    with tab(client) as here:
        here.do("follow", run="runs/checkers")
        row = here.until("run")["games"]["rows"][1]
        here.do("rungame", run="runs/checkers", generation=2, index=1)
        assert (here.state["game"], here.state["mode"]) == ("checkers", "analysis")
        assert len(here.moves()) == row["plies"]
        assert here.state["result"] == row["result"]


@pytest.mark.parametrize(
    "run", ["nope", "../x", "/etc", "runs", "", "runs/../runs/checkers", "pretrained.run"]
)
def test_what_is_no_run_or_game_is_refused(client, run):
    with tab(client) as here:
        here.refused("rungame", run=run, generation=1, index=0)
        if run != "pretrained.run":
            here.do("follow", run=run)
            assert "expected a run of this folder" in here.until("run")["problem"]


def test_games_that_are_not_there_are_refused(client):
    with tab(client) as here:
        for generation, index in ((2, 4), (9, 0), (0, 0)):
            here.refused("rungame", run="runs/checkers", generation=generation, index=index)


def test_a_damaged_run_says_so(folder, tmp_path, monkeypatch):
    shutil.copytree(folder / "runs" / "checkers", tmp_path / "runs" / "bad")
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path) as client, tab(client) as here:
        here.do("follow", run="runs/bad")
        assert here.until("run")["problem"] is None
        (tmp_path / "runs" / "bad" / "gen_0001" / "done.json").write_text("{")
        assert "cannot be read" in here.until("run")["problem"]


def test_what_a_run_is_doing(folder, tmp_path):
    shutil.copytree(folder / "runs" / "checkers", tmp_path / "run")
    run = Run.open(tmp_path / "run")
    run.set_target(3)
    assert progress_of(run) == ("2 of 3 generations", 2)
    with locked(run.folder / LOCK):
        assert progress_of(run).text == "generation 3 of 3: 0 of 4 games played"
        (run.path(3) / "shards").mkdir(parents=True)
        (run.path(3) / "shards" / "000000000000.parquet").write_text("half written")
        assert progress_of(run) == ("generation 3 of 3: 0 of 4 games played", 3)
        assert games_so_far(run.path(3) / "shards") == {}
        run.path(3, "selfplay.json").write_text("{}")
        assert progress_of(run).text == "generation 3 of 3: training"
        run.path(3, "candidate.ckpt").write_text("")
        assert progress_of(run).text == "generation 3 of 3: gate match, 0 of 2 games saved"


def test_texts_of_games_are_split_where_their_tags_begin(folder):
    run = Run.open(folder / "runs" / "checkers")
    texts = generation_games(run, 1)
    assert len(texts) == 4
    assert all(text.startswith("[Event") and text.count("[Event ") == 1 for text in texts)
    assert split_games("") == []


@pytest.mark.parametrize(
    ("name", "moves"), [("checkers", "11-15 22-18 15x22"), ("go", "D1 E1 F1"), ("tictactoe", "1 2 3")]
)
def test_the_plies_of_a_game_are_counted(name, moves):
    spec = get_game(name)
    game = spec.game()
    for move in moves.split():
        game.push(move)
    row = _listed(0, spec.to_pdn(game, {"Black": "A"}, "*"))
    assert (row["plies"], row["black"]) == (3, "A")
