"""The benchmarks of runs on many machines, small; and that they notice what they look for."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from ckai.models.registry import build
from ckai.rl.loop.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
TINY = RunConfig(
    games=4,
    selfplay=SelfPlayConfig(sims=4, in_flight=4, groups=1, max_plies=20),
    learn=LearnConfig(epochs=1, batch_size=64),
    gate=GateConfig(games=0),
)
needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


def output_of(script, *arguments):
    """What a benchmark prints; it ends well."""
    command = [sys.executable, str(BENCHMARKS / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=850)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def runs(tmp_path):
    """Folders of two runs of the same form."""
    run = Run.create(tmp_path / "one", build("cnn2x2", {"channels": 4, "hidden": 16}), TINY)
    run.go(1, lambda event: None)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    return tmp_path / "one", tmp_path / "other"


def test_runs_of_the_same_form(runs, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS / "faults")
    from run_form import differences

    one, other = runs
    assert differences(one, other) == []
    log = next((other / "tensorboard").iterdir(), None) if (other / "tensorboard").exists() else None
    if log is not None:
        log.rename(log.with_name("events.out.tfevents.1.elsewhere.2.3"))
    done = json.loads((one / "gen_0001/done.json").read_text())
    done["selfplay"]["workers"] = {"count": 1}
    done["selfplay"]["seconds"] = 1
    (one / "gen_0001/done.json").write_text(json.dumps(done))
    assert differences(one, other) == []


def test_what_is_no_run_of_the_same_form(runs, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS / "faults")
    from run_form import differences

    one, other = runs
    (one / "gen_0001/selfplay.json").unlink()
    (one / "leases").mkdir()
    (one / "leases/x.json").write_text("{}")
    rows = pq.read_table(one / "gen_0001/rows.parquet")
    pq.write_table(
        rows.filter(rows["game"].to_numpy() != rows["game"][0].as_py()), one / "gen_0001/rows.parquet"
    )
    pdn = (one / "gen_0001/games.pdn").read_text()
    (one / "gen_0001/games.pdn").write_text(pdn[: pdn.rindex("[Event ")])
    lines = differences(one, other)
    assert len(lines) == 4
    assert f"{one}: games in all games.pdn: expected 4, found 3" in lines
    assert f"{one}: games in all rows.parquet: expected 4, found 3" in lines
    assert f"gen_0001/selfplay.json: expected in {one}, as in {other}" in lines
    assert f"leases/x.json: not expected in {one}, not in {other}" in lines


@pytest.mark.slow
@pytest.mark.programs
@pytest.mark.timeout(900)
@pytest.mark.parametrize("transport", [pytest.param("ray", marks=needs_ray), "join"])
def test_a_run_with_faults(transport):
    small = ("--games", 30, "--sims", 10, "--pause", 2, "--lease-timeout", 10)
    out = output_of("faults/faults.py", transport, "--strikes", 2, "--driver-kills", 1, *small)
    assert "games, each once" in out


@needs_ray
@pytest.mark.slow
@pytest.mark.programs
@pytest.mark.timeout(900)
def test_the_memory_of_a_run(tmp_path):
    samples = tmp_path / "samples.jsonl"
    out = output_of(
        "speed/soak.py", "--minutes", 0.1, "--every", 0.5, "--games", 40, "--warm", 1, "-o", samples
    )
    assert "driver" in out
    seen = [json.loads(line) for line in samples.read_text().splitlines()]
    assert len(seen) > 2
    assert all(50 < sample["driver"] < 10_000 for sample in seen)
    assert any(sample["store"] > 0 for sample in seen)


@needs_ray
@pytest.mark.slow
@pytest.mark.programs
@pytest.mark.timeout(900)
def test_the_speed_on_ray():
    small = ("--games", 200, "--sims", 20, "--in-flight", 16, "--warm", 0)
    out = output_of("speed/ray_speed.py", "--rounds", 1, *small)
    assert "median of 1: " in out
