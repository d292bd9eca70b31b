"""`--data` with the folder of a self-play run: the rows of all its finished generations."""

import json
from pathlib import Path

import make_rows
import pytest

from ckai.datasets.files import write_whole
from ckai.models.network import build
from ckai.rl.run.config import RunConfig
from ckai.rl.run.run import Run

SMALL = {"channels": 2, "hidden": 4}
TRAIN = (
    "pretrain",
    *("--set", "channels=2", "--set", "hidden=4"),
    "--epochs",
    1,
    "--setting",
    "heldout=0.2",
    "--json",
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run with two finished generations, of 20 and 10 games, and a third that is not finished."""
    monkeypatch.chdir(tmp_path)
    run = Run.create(Path("runs/a"), build("cnn2x2", SMALL), RunConfig())
    (run.folder / "games").mkdir()
    for n, games in ((1, 20), (2, 10), (3, 5)):
        name = f"000{n - 1}-run-00000{n}.parquet"
        rows = make_rows.with_search(make_rows.random_games(games, seed=n))
        make_rows.write(run.folder / "games" / name, rows)
        write_whole(run.learned_path(n), json.dumps({"files": {name: games}, "measured": {}}))
        if n < 3:
            write_whole(run.measured_path(n), "{}")
    return run


def trained(ckai, *options):
    """Train on rows and return what was trained on: the paths, and the number of rows in training."""
    status, out, err = ckai(*TRAIN, "-o", f"{len(options)}-{options[1].replace('/', '-')}.ckpt", *options)
    assert status == 0, err
    answer = json.loads(out)
    return answer["data"], answer["train_rows"]


def test_a_run_stands_for_its_finished_generations(ckai, run):
    both = [str(path) for path in run.shards()]
    paths, rows = trained(ckai, "--data", "runs/a")
    assert paths == ["runs/a"]
    assert rows == trained(ckai, "--data", both[0], "--data", both[1])[1]


def test_the_weight_of_a_run_is_that_of_each_generation(ckai, run):
    more = make_rows.write(Path("more.parquet"), make_rows.random_games(8, seed=9))
    weights = ("--data-weight", 0.5, "--data-weight", 1)
    status, _, err = ckai(*TRAIN, "-o", "w.ckpt", "--data", "runs/a", "--data", more, *weights)
    assert status == 0, err
    config = json.loads(Path("w.run/config.json").read_text())
    assert config["weights"] == [0.5, 0.5, 1.0]
    status, _, err = ckai(*TRAIN, "-o", "x.ckpt", "--data", "runs/a", *weights)
    assert status == 2
    assert "expected 1 --data-weight, one for each data set, found 2" in err


@pytest.mark.slow
def test_evaluate_and_distill_take_a_run(ckai, run):
    network = run.network_path(0)
    status, out, _ = ckai("evaluate", network, "--data", "runs/a", "--json")
    assert status == 0
    assert json.loads(out)["data"] == ["runs/a"]
    status, out, _ = ckai("evaluate", network, "--data", "runs/a")
    assert "of runs/a\n" in out
    status, _, err = ckai("distill", network, "--data", "runs/a", "-o", "d.parquet", "--positions", 50)
    assert status == 0, err


def test_other_folders_are_refused_with_what_was_expected(ckai, run):
    status, _, err = ckai(*TRAIN, "--data", "runs")
    assert status == 1
    assert "runs: expected a run with a config.json, found none" in err
    for n in (1, 2):
        run.measured_path(n).unlink()
    status, _, err = ckai(*TRAIN, "--data", "runs/a")
    assert status == 1
    assert "runs/a: expected a finished generation, found none; `ckai selfplay --run runs/a` continues" in err
    status, _, err = ckai(*TRAIN, "--data", "none.parquet")
    assert status == 1
    assert "none.parquet: expected a data set, found no such file" in err
