"""`ckai selfplay`: which run it continues or begins, what it refuses, and the hint after Ctrl-C."""

import json
import re
import shlex
from pathlib import Path

import pytest
import torch
from fake_cuda import FakeCuda

from ckai.models.checkpoint import save_checkpoint
from ckai.models.inference import cuda_backend
from ckai.models.registry import build
from ckai.rl.loop.config import RunConfig
from ckai.rl.loop.folder import RunFolder
from ckai.rl.loop.run import Run

SMALL = ("--set", "channels=2", "--set", "hidden=4")
NEW = ("selfplay", "--init", "none", *SMALL)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def started(monkeypatch):
    """Runs that commands would continue, as (folder, generations, backend); they stop with Ctrl-C."""
    calls = []

    def go(run, generations, on_event, *, backend, workers):
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
        done = RunFolder.open(Path(folder)).path(n, "done.json")
        done.parent.mkdir(exist_ok=True)
        done.write_text(json.dumps({"generation": n, "accepted": True, **MEASURED}))
        done.with_name("network.ckpt").write_bytes((Path(folder) / "gen_0000/network.ckpt").read_bytes())


def test_the_same_command_continues_an_unfinished_run(ckai, started):
    command = (*NEW, "--games", 4)
    status, _, err = ckai(*command)
    assert status == 130
    assert "continuing" not in err
    for again in (command, NEW, (*command, "--seed", 0)):
        assert "continuing runs/run-001, which has 0 of 10 generations; --fresh begins" in ckai(*again)[2]
    finish("runs/run-001", 3)
    assert "which has 3 of 10 generations" in ckai(*command)[2]
    finish("runs/run-001", 10)
    assert "continuing" not in ckai(*command)[2]
    assert [call[:2] for call in started] == [("runs/run-001", 10)] * 5 + [("runs/run-002", 10)]


def test_another_command_begins_another_run_and_says_so(ckai, started):
    ckai(*NEW, "--games", 4, "--generations", 7)
    save_checkpoint(Path("pretrained.ckpt"), build("cnn2x2", {"channels": 2, "hidden": 4}))
    for n, (command, reason) in enumerate(
        (
            ((*NEW, "--games", 5), "(games = 4, not 5)"),
            ((*NEW, "--fresh"), ""),
            (("selfplay", "--init", "none", "--set", "channels=3"), "(channels = 2, not 3)"),
            (("selfplay", "--init", "none", "--model", "mlp"), "(model = cnn2x2, not mlp)"),
            (("selfplay",), "(init = none, not pretrained.ckpt)"),
            (("selfplay", "--game", "tictactoe", "--init", "none"), "(game = checkers, not tictactoe)"),
        ),
        2,
    ):
        _, _, err = ckai(*command)
        reason = f"{reason and ' '}{reason}"
        assert (
            f"beginning runs/run-{n:03d}; runs/run-001 has 0 of 7 generations{reason}; continue that with: "
            "ckai selfplay --run runs/run-001 --generations 7\n"
        ) in err
        assert started[-1][0] == f"runs/run-{n:03d}"
        # Then run-001 is the newest again.
        Path(f"runs/run-{n:03d}/config.json").rename(f"runs/run-{n:03d}/other.json")
    assert ckai("selfplay", "--fresh", "--run", "x")[0] == 2


def test_generations_are_those_that_the_run_was_begun_for(ckai, started):
    ckai(*NEW, "--generations", 3)
    ckai(*NEW)
    ckai("selfplay", "--run", "runs/run-001")
    ckai("selfplay", "--run", "runs/run-001", "--generations", 5)
    finish("runs/run-001", 3)
    ckai("selfplay", "--run", "runs/run-001")
    assert [call[1] for call in started] == [3, 3, 3, 5, 10]


def test_the_hint_continues_the_same_run(ckai, started):
    _, _, err = ckai(*NEW, "--run", "my run", "--generations", 7, "--evaluator", "torch")
    hint = re.search(r"continue with: ckai (.*)", err)[1]
    ckai(*shlex.split(hint))
    assert started == [("my run", 7, "torch")] * 2
    hint = re.search(r"continue with: (.*)", ckai(*NEW, "--generations", 2)[2])[1]
    assert hint == "ckai selfplay --run runs/run-001 --generations 2"


def test_a_command_stopped_before_its_first_game_gives_the_hint(ckai, monkeypatch):
    from ckai.cli import selfplay

    def stopped(pieces):
        raise KeyboardInterrupt

    monkeypatch.setattr(selfplay, "ensure_tables", stopped)
    _, _, err = ckai(*NEW, "--generations", 4)
    assert "continue with: ckai selfplay --run runs/run-001 --generations 4" in err


def test_what_a_run_has_cannot_be_changed(ckai, started):
    network = build("cnn2x2", {"channels": 2, "hidden": 4})
    save_checkpoint(Path("a.ckpt"), network)
    save_checkpoint(Path("b.ckpt"), build("cnn2x2", {"channels": 2, "hidden": 4}))
    ckai("selfplay", "--init", "a.ckpt", "--run", "r")
    for options, what in (
        (("--model", "resnet"), "model = cnn2x2, not resnet"),
        (("--set", "channels=4"), "channels = 2, not 4"),
        (("--init", "none"), "init = a.ckpt, not none"),
        (("--init", "b.ckpt"), "init = a.ckpt, not b.ckpt"),
        (("--init", "missing.ckpt"), "init = a.ckpt, not missing.ckpt"),
        (("--game", "connect4"), "game = checkers, not connect4"),
        (("--experts", "rows.parquet"), "no expert positions, not those of rows.parquet"),
        (("--sims", "7"), "selfplay.sims = 100, not 7"),
        (("--gate-games", "20"), "gate.games = 100, not 20"),
        (("--setting", "learn.batch_size=7"), "learn.batch_size = 512, not 7"),
    ):
        status, _, err = ckai("selfplay", "--run", "r", *options)
        assert status == 1
        assert err == (
            f"ckai: error: r: expected the settings of the run, found others ({what}); omit that option, or "
            "give another --run\n"
        )
    same = ("--init", "a.ckpt", "--model", "cnn2x2", *SMALL, "--game", "checkers", "--sims", 100)
    assert ckai("selfplay", "--run", "r", *same)[0] == 130
    # The file of the first network is not needed again; if it has other weights now, that is said.
    Path("a.ckpt").rename("c.ckpt")
    assert ckai("selfplay", "--run", "r", *same)[0] == 130
    assert ckai("selfplay", "--run", "r", "--init", "c.ckpt")[0] == 130
    Path("b.ckpt").rename("a.ckpt")
    assert "(init = a.ckpt before it changed)" in ckai("selfplay", "--run", "r", *same)[2]
    assert len(started) == 4


def test_more_generations_are_mentioned(ckai, started):
    ckai(*NEW, "--generations", 2)
    finish("runs/run-001", 2)
    _, _, err = ckai("selfplay", "--run", "runs/run-001", "--generations", 20)
    assert "runs/run-001: generation 3 of 20 (before: 2)" in err


def test_a_run_at_work_is_left_alone(ckai):
    ckai(*NEW, "--generations", 0)
    run = Run.open(Path("runs/run-001"))
    run.set_target(5)
    with run.lock():
        assert run.status == "running"
        status, _, err = ckai(*NEW, "--evaluator", "torch")
    assert status == 1
    assert "runs/run-001: expected no other process at work on this run, found process" in err
    assert run.status == "unfinished"


def test_a_dry_run_says_what_a_generation_takes_and_leaves_nothing(ckai):
    status, out, _ = ckai(*NEW, "--dry-run", "--games", 50, "--evaluator", "torch", "--groups", 3)
    assert status == 0
    assert "workers: 1 of 3 cores each (this machine: 1)" in out
    assert "a generation of 50 games takes about" in out
    assert not Path("runs").exists()
    status, _, err = ckai(*NEW, "--dry-run", "--experts", "missing.parquet")
    assert (status, "--experts ROWS and --expert-share" in err) == (1, True), (status, err)
    found = json.loads(ckai(*NEW, "--dry-run", "--games", 50, "--evaluator", "torch", "--json")[1])
    assert found["games"] == 50
    assert found["evaluations_per_second_of_a_core"] > 0
    more = json.loads(ckai(*NEW, "--dry-run", "--games", 100, "--evaluator", "torch", "--json")[1])
    assert more["shard_bytes"] == 2 * found["shard_bytes"] > 0


def test_settings_of_workers_that_would_do_nothing_are_refused(ckai):
    for words in (("--workers", 2), ("--cpus-per-worker", 2), ("--gpus-per-worker", 1), ("--store-mb", 100)):
        status, _, err = ckai(*NEW, *words)
        assert status == 2
        assert f"expected {words[0]} with --ray, found it without" in err
    assert (
        "expected --store-mb with --ray local, found --ray auto" in ckai(*NEW, "--ray", "--store-mb", 99)[2]
    )
    assert not Path("runs").exists()


def test_the_hint_keeps_the_cluster(ckai, monkeypatch):
    monkeypatch.setattr("ckai.rl.leases.cluster.connect", lambda address, config: None)
    monkeypatch.setattr("ckai.rl.leases.on_ray.import_ray", lambda: None)

    def go(run, generations, on_event, **rest):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "go", go)
    _, _, err = ckai(*NEW, "--ray", "10.0.0.5:6379", "--evaluator", "torch")
    assert "continue with: ckai selfplay --run runs/run-001" in err
    assert "--ray 10.0.0.5:6379" in err
    config = Run.open(Path("runs/run-001")).config
    assert config.overlap
    assert config.late == 0.1


def in_flight(ckai, *words):
    """Games at the same time in a new run of 9,000 games a generation."""
    status, _, err = ckai(*NEW, "--fresh", "--games", 9000, *words)
    assert "continue with" in err, (status, err)
    return Run.open(max(Path("runs").iterdir())).config.selfplay.in_flight


def test_networks_on_a_gpu_have_thousands_of_games_in_flight(ckai, started, monkeypatch):
    assert in_flight(ckai) == 256
    assert in_flight(ckai, "--evaluator", "cuda:1") == 4096
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert in_flight(ckai) == 4096
    assert in_flight(ckai, "--games", 1000) == 1000
    assert in_flight(ckai, "--games", 8) == 256
    assert in_flight(ckai, "--in-flight", 100) == 100
    assert in_flight(ckai, "--evaluator", "torch") == 256
    assert started[1][2] == "cuda:1"


def test_workers_with_gpus_have_thousands_of_games_in_flight(ckai, started, monkeypatch):
    monkeypatch.setattr("ckai.rl.leases.cluster.connect", lambda address, config: None)
    monkeypatch.setattr("ckai.rl.leases.on_ray.import_ray", lambda: None)
    assert in_flight(ckai, "--ray", "10.0.0.5:6379", "--gpus-per-worker", 0.5) == 4096
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    assert in_flight(ckai, "--ray", "10.0.0.5:6379") == 256


def test_a_dry_run_shares_a_gpu_among_the_threads(ckai, monkeypatch):
    FakeCuda(monkeypatch)
    monkeypatch.setattr(cuda_backend, "_gpus", {})
    monkeypatch.setattr(cuda_backend, "find_gpu", lambda name: torch.device("cpu"))
    calls = []

    def measure(evaluator, rows, threads):
        calls.append((evaluator.name, len(rows), threads))
        return 3000.0

    monkeypatch.setattr("ckai.models.inference.backends.evaluations_per_second", measure)
    words = ("--dry-run", "--games", 900, "--evaluator", "cuda", "--groups", 3, "--json")
    found = json.loads(ckai(*NEW, *words)[1])
    assert calls == [("cnn2x2, cuda graphs bfloat16, cpu", 300, 3)]
    assert found["evaluations_per_second_of_a_core"] == 1000


@pytest.mark.parametrize("name", ["tpu", "cuda:", "cuda:x", "cuda:-1"])
def test_other_names_of_evaluators_are_refused(ckai, name):
    status, _, err = ckai(*NEW, "--evaluator", name)
    assert status == 2
    assert f"'{name}' is not one of 'auto'" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--gate", "score", "--gate-games", 0),
            "expected --gate-games above 0 with --gate, found it without",
        ),
        (("--gate-threshold", 0.6), "expected --gate score with --gate-threshold"),
        (("--setting", "gate.elo1=40"), "expected --gate sprt with --setting gate.elo1"),
        (("--gumbel-scale", 1), "expected --root-rule gumbel with --gumbel-scale"),
        (
            ("--policy-target-pruning", "--root-rule", "forced"),
            "expected --root-rule puct with --policy-target",
        ),
        (("--fast-visits", 8), "expected --full-search-prob below 1 with --fast-visits"),
        (("--c-puct-ramp", 8), "expected --c-puct-first with --c-puct-ramp"),
        (("--q-ramp", 8), "expected --q-first with --q-ramp"),
        (("--reanalyze-sims", 8), "expected --reanalyze with --reanalyze-sims"),
        (("--reanalyze", 0.5, "--reuse", 2), "expected --reuse above --epochs, or 0 with --reanalyze"),
        (("--pool-opponents", 8), "expected --pool-share with --pool-opponents"),
        (("--max-age", 3), "expected --late with --max-age"),
        (("--sims", 1), "expected 2 or more visits for --sims, found 1, which trains no policy"),
    ],
)
def test_options_that_would_do_nothing_are_refused(ckai, options, message):
    status, _, err = ckai(*NEW, *options)
    assert (status, message in err) == (2, True), err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "options", [("--sims", 1, "--root-rule", "gumbel"), ("--gate", "none"), ("--no-policy-target-pruning",)]
)
def test_options_that_do_something_or_say_so_are_taken(ckai, started, options):
    assert ckai(*NEW, *options)[0] == 130


def test_the_hint_has_the_options_of_workers():
    from ckai.cli.shared.existing_run import continue_command

    run = RunFolder.create(Path("runs/run-001"), build("mlp", {"hidden": 4}), RunConfig())
    command = continue_command(run, 5, "torch", "auto", {"workers.gpus_per_worker": 0.5})
    assert command.endswith("--evaluator torch --ray auto --gpus-per-worker 0.5")
