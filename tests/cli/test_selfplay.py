"""`ckai selfplay`: which run it continues or begins, what it refuses, and the hint after Ctrl-C."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from ckai.datasets.files import write_whole
from ckai.models.checkpoint import save_checkpoint
from ckai.models.network import build
from ckai.rl.run.run import Run

SMALL = ("--set", "channels=2", "--set", "hidden=4")
NEW = ("selfplay", "--init", "none", *SMALL)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def started(monkeypatch):
    """Runs that commands would continue, as (folder, generations, backend); they stop with Ctrl-C."""
    calls = []

    def go(run, generations, on_event, *, backend, ray):
        calls.append((str(run.folder), generations, backend))
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "go", go)
    return calls


MEASURED = {
    "selfplay": {"games": 4, "rows": 200, "drawn": 1, "plies_mean": 50.0, "q_z_mse": 0.5},
    "learn": {"rows": 200.0, "train_policy_loss": 1.0, "train_value_loss": 1.0},
    "match": {"games": 0},
}


def finish(folder, generations):
    """Mark generations of a run as finished."""
    for n in range(1, generations + 1):
        run = Run.open(Path(folder))
        write_whole(run.measured_path(n), json.dumps({"generation": n, "accepted": True, **MEASURED}))
        write_whole(run.network_path(n), run.network_path(0).read_bytes())


def test_a_run_is_continued_by_naming_it(ckai, started):
    command = (*NEW, "--games", 4, "--generations", 7)
    ckai(*command)
    finish("runs/run-001", 3)
    _, _, err = ckai(*command)
    assert "beginning runs/run-002; --run runs/run-001 continues the one with 3 of 7 generations\n" in err
    assert "beginning" not in ckai("selfplay", "--run", "runs/run-001")[2]
    ckai(*command, "--run", "runs/run-001")
    ckai("selfplay", "--run", "runs/run-001", "--generations", 9)
    assert [call[:2] for call in started] == [
        ("runs/run-001", 7),
        ("runs/run-002", 7),
        ("runs/run-001", 7),
        ("runs/run-001", 7),
        ("runs/run-001", 9),
    ]


def test_the_hint_continues_the_same_run(ckai, started):
    _, _, err = ckai(*NEW, "--run", "my run", "--generations", 7, "--evaluator", "torch")
    hint = re.search(r"continue with: ckai (.*)", err)[1]
    ckai(*shlex.split(hint))
    assert started == [("my run", 7, "torch")] * 2
    hint = re.search(r"continue with: (.*)", ckai(*NEW, "--generations", 2)[2])[1]
    assert hint == "ckai selfplay --run runs/run-001"


@pytest.mark.parametrize(
    "options",
    [
        ("--model", "resnet"),
        ("--set", "channels=4"),
        ("--init", "b.ckpt"),
        ("--game", "connect4"),
        ("--sims", "7"),
        ("--setting", "learn.batch_size=7"),
    ],
)
def test_what_a_run_has_cannot_be_changed(ckai, started, options):
    save_checkpoint(Path("a.ckpt"), build("cnn2x2", {"channels": 2, "hidden": 4}))
    begin = ("selfplay", "--init", "a.ckpt", "--run", "r", "--games", 5)
    assert ckai(*begin)[0] == 130
    status, _, err = ckai("selfplay", "--run", "r", *options)
    assert (status, err) == (
        1,
        "ckai: error: r is a run with its own settings; give --run OTHER to start a new one\n",
    )
    Path("a.ckpt").unlink()
    assert ckai(*begin)[0] == 130


def test_a_dry_run_says_what_a_generation_takes_and_leaves_nothing(ckai):
    status, out, _ = ckai(
        *NEW, "--dry-run", "--games", 50, "--evaluator", "torch", "--setting", "selfplay.groups=3"
    )
    assert status == 0
    assert "eval/s with 3 threads" in out
    assert "each generation takes about" in out
    assert not Path("runs").exists()


def started_with(ckai, *words):
    """Settings of a new run of 9,000 games a generation."""
    new = ("selfplay",) if "--init" in words else NEW
    status, _, err = ckai(*new, "--games", 9000, *words)
    assert "continue with" in err, (status, err)
    return Run.open(max(Path("runs").iterdir())).config


def in_flight(ckai, *words):
    return started_with(ckai, *words).selfplay.in_flight


@pytest.fixture
def machine(monkeypatch):
    """Sixteen cores and 128 GiB."""
    monkeypatch.setattr("ckai.rl.run.config.available_cores", lambda: 16)
    monkeypatch.setattr("ckai.rl.run.config.available_memory", lambda: 128 * 2**30)


@pytest.mark.usefixtures("machine", "started")
def test_networks_on_a_gpu_have_a_thousand_games_in_flight_for_each_core(ckai, monkeypatch):
    assert in_flight(ckai) == 256
    assert in_flight(ckai, "--evaluator", "cuda") == 16_384
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert in_flight(ckai) == 16_384
    assert in_flight(ckai, "--games", 1000) == 4000
    assert in_flight(ckai, "--games", 8) == 256
    assert in_flight(ckai, "--setting", "selfplay.in_flight=100") == 100
    assert in_flight(ckai, "--evaluator", "torch") == 256
    monkeypatch.setattr("ckai.rl.run.config.available_memory", lambda: 16 * 2**30)
    few = in_flight(ckai, "--sims", 3200)
    assert 1000 < few < 16_384
    monkeypatch.setattr("ckai.rl.run.config.available_memory", lambda: 8 * 2**30)
    assert in_flight(ckai, "--sims", 3200) == pytest.approx(few / 2, abs=1)


@pytest.mark.usefixtures("started")
def test_playing_waits_for_learning_on_a_cpu_alone(ckai, monkeypatch):
    assert not started_with(ckai).overlap
    assert started_with(ckai, "--evaluator", "cuda").overlap
    assert not started_with(ckai, "--evaluator", "cuda", "--setting", "overlap=false").overlap
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert started_with(ckai).overlap
    assert not started_with(ckai, "--evaluator", "torch").overlap
    ckai(*NEW)
    assert Run.open(max(Path("runs").iterdir())).config.games == 8000


@pytest.mark.usefixtures("started")
def test_settings_from_a_file(ckai):
    """The settings of a run are such a file; options override it."""
    Path("run.yaml").write_text("seed: 7\nselfplay:\n  sims: 30\nlearn: {lr: 0.01}\n")
    config = started_with(ckai, "--config", "run.yaml", "--lr", 0.02)
    assert (config.seed, config.selfplay.sims, config.learn.lr) == (7, 30, 0.02)
    again = started_with(ckai, "--config", "runs/run-001/config.json", "--seed", 8)
    assert again == replace(config, seed=8)
    Path("run.yaml").write_text("game: tictactoe\ngames: 2\nlearn: {lr: 0.01}\n")
    config = started_with(ckai, "--config", "run.yaml", "--init", "none", "--model", "mlp")
    assert (config.selfplay.tables, config.selfplay.temperature_plies) == (0, 8)
    for text, message in (
        ("seed: [", "run.yaml: expected settings as YAML or JSON"),
        ("- 3", "run.yaml: expected settings by name, found list"),
        ("speed: {of: 3}", "unknown setting speed"),
        ("selfplay: {sims: many}", "selfplay.sims"),
    ):
        Path("run.yaml").write_text(text)
        status, _, err = ckai(*NEW, "--config", "run.yaml")
        assert (status, len(err.splitlines())) == (1, 1)
        assert message in err
    status, _, err = ckai(*NEW, "--config", "none.yaml")
    assert "none.yaml: expected settings as YAML or JSON (No such file or directory)" in err
    assert status == 1
