"""Runs at the board: the list, one followed while its files change, its games."""

import json
import shutil
from io import BytesIO

import pytest
from board_runs import played_run
from board_tab import serving, tab

from ckai.cli.web.runs import _listed
from ckai.datasets.files import locked
from ckai.pdn import read_games
from ckai.rl.run.run import LOCK, Run
from ckai.rl.run.runs import progress_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    played_run(folder, "checkers", "planes")
    training = folder / "pretrained.run"
    training.mkdir()
    (training / "config.json").write_text(
        json.dumps({"model": "cnn2x2", "changed": {}, "train": {"epochs": 3}})
    )
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
        Run.open(tmp_path / "runs" / "bad").measured_path(1).write_text("{")
        assert "cannot be read" in here.until("run")["problem"]


def test_what_a_run_is_doing(folder, tmp_path):
    shutil.copytree(folder / "runs" / "checkers", tmp_path / "run")
    run = Run.open(tmp_path / "run")
    run.set_target(3)
    assert progress_of(run) == ("2 of 3 generations", 2)
    with locked(run.folder / LOCK):
        assert progress_of(run).text == "generation 3 of 3: 0 of 4 games played"
        (run.folder / "games" / "0002-run-000009.parquet").write_text("damaged")
        assert progress_of(run) == ("generation 3 of 3: 0 of 4 games played", 2)
        assert list(run.games(3)) == []
        run.keep("0002-run-000010.parquet", run.shards(2)[0].read_bytes())
        assert progress_of(run) == ("generation 3 of 3: 4 of 4 games played", 3)
        run.learned_path(3).write_text('{"files": {}, "measured": {}}')
        assert progress_of(run).text == "generation 3 of 3: training"
        run.network_path(3).write_text("")
        assert progress_of(run).text == "generation 3 of 3: gate match, 0 of 2 games saved"


def test_a_game_of_a_run_is_listed_with_what_its_text_says(folder):
    run = Run.open(folder / "runs" / "checkers")
    listed = list(run.games(1))
    assert len(listed) == 4
    for game in listed:
        text = run.pdn_of(game)
        (read,) = read_games(BytesIO(text.encode()))
        row = _listed(0, game.header)
        assert (row["plies"], row["black"]) == (len(read.moves), read.header("Black"))
