"""Runs at the board: the list, one as it is now, its games."""

import json
import shutil

import pytest
from board_runs import played_run
from board_tab import ask, refused, serving

from ckai.datasets.files import locked
from ckai.rl.run.run import LOCK, Run
from ckai.rl.run.runs import progress_of

pytestmark = pytest.mark.slow


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


@pytest.fixture(scope="module")
def client(folder):
    with serving(folder) as client:
        yield client


def test_runs_are_listed(client):
    runs = {row["run"]: row for row in ask(client, "runs")["runs"]}
    row = {"kind": "self-play", "game": "checkers", "status": "finished", "text": "2 of 2 generations"}
    assert runs["runs/checkers"] == {"run": "runs/checkers", **row}
    assert (runs["pretrained.run"]["kind"], runs["pretrained.run"]["text"]) == (
        "pretraining",
        "cnn2x2: 2 of 3 epochs",
    )


def test_a_run_of_self_play_is_shown_with_its_games(client):
    run = ask(client, "runs", run="runs/checkers")["run"]
    curves = {curve["title"].split(":")[0]: curve for curve in run["curves"]}
    assert curves["Losses"]["x"] == [1, 2]
    assert all(len(series["y"]) == 2 for curve in run["curves"] for series in curve["series"])
    assert (run["settings"]["selfplay.sims"], run["games"]["generation"]) == (4, 2)
    assert len(run["games"]["rows"]) == 4
    row = run["games"]["rows"][1]
    game = ask(client, "run_game", run="runs/checkers", generation=2, index=1)
    assert (len(game["line"]), game["result"]) == (row["plies"], row["result"])


def test_a_training_is_shown_and_its_next_epoch(client, folder):
    losses, accuracy = ask(client, "runs", run="pretrained.run")["run"]["curves"]
    assert losses["series"] == [
        {"name": "policy, training", "y": [1.5, 1.25]},
        {"name": "value against the result, held out", "y": [None, 0.5]},
    ]
    assert accuracy["series"] == [{"name": "first, held out", "y": [0.3, 0.4]}]
    metrics = folder / "pretrained.run" / "metrics.csv"
    before = metrics.read_text()
    metrics.write_text(before + "3,6,1.0,0.5,0.25\n")
    assert ask(client, "runs", run="pretrained.run")["run"]["curves"][0]["x"] == [1, 2, 3]
    metrics.write_text(before)


@pytest.mark.parametrize("run", ["nope", "../x", "/etc", "runs", "runs/../runs/checkers", "pretrained.run"])
def test_what_is_no_run_of_self_play_has_no_games(client, run):
    assert ask(client, "runs", run=run)["run"]["run"] in ("runs/checkers", "pretrained.run")
    assert "expected a run of self-play here" in refused(client, "run_game", run=run, generation=1, index=0)


@pytest.mark.parametrize(("generation", "index"), [(2, 4), (9, 0), (0, 0), (1, -1), ("x", 0)])
def test_games_that_are_not_there_are_refused(client, generation, index):
    refused(client, "run_game", run="runs/checkers", generation=generation, index=index)


def test_a_damaged_run_says_so(folder, tmp_path):
    shutil.copytree(folder / "runs" / "checkers", tmp_path / "runs" / "bad")
    Run.open(tmp_path / "runs" / "bad").measured_path(1).write_text("{")
    with serving(tmp_path) as client:
        assert "cannot be read" in ask(client, "runs")["run"]["problem"]


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
