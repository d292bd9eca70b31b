"""Runs that reanalyze rows: what they learn, what stays, kills and damaged files."""

import csv
import json
import shutil
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from whole_run import check_whole

from ckai.models.checkpoint import save_checkpoint
from ckai.models.registry import build
from ckai.rl.loop import run as module
from ckai.rl.loop.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.dashboard import REANALYSIS_COLUMNS, write_dashboard
from ckai.rl.loop.live import progress_of
from ckai.rl.loop.report import seconds_of
from ckai.rl.loop.run import Run
from ckai.rl.reanalysis import reanalyze as reanalysis
from ckai.rl.selfplay.config import SelfPlayConfig

TINY = RunConfig(
    games=6,
    selfplay=SelfPlayConfig(sims=8, in_flight=4, groups=2, max_plies=24),
    learn=LearnConfig(epochs=1, batch_size=64, window=3, reanalyze=0.5),
    gate=GateConfig(games=0),
)
SHARD_ROWS = 20
"""So small that there are several shards."""


def ignore_event(_event):
    pass


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of three generations that nothing interrupted, and what `learn` was given in each.

    Beside it is a copy of the run as it was after two.
    """
    folder = tmp_path_factory.mktemp("whole")
    save_checkpoint(folder / "init.ckpt", build("cnn2x2", {"channels": 4, "hidden": 16}))
    learned, rows, real = {}, {}, module.learn

    def learn(old, window, *given, generation, **more):
        learned[generation] = [path.relative_to(folder / "run") for path in window]
        rows[generation] = {path.name + path.parent.name: path.read_bytes() for path in window}
        return real(old, window, *given, generation=generation, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "learn", learn)
        patch.setattr(reanalysis, "SHARD_ROWS", SHARD_ROWS)
        run = Run.create(folder / "run", folder / "init.ckpt", TINY)
        run.go(2, ignore_event)
        shutil.copytree(run.folder, folder / "two")
        run.go(3, ignore_event)
    return run, learned, rows


def test_a_run_learns_the_new_targets(whole):
    run, learned, rows = whole
    check_whole(run, 3)
    assert [str(path) for path in learned[1]] == ["gen_0001/rows.parquet"]
    assert [str(path) for path in learned[2]] == ["gen_0001/reanalyzed-002.parquet", "gen_0002/rows.parquet"]
    assert [path.name for path in learned[3]] == ["reanalyzed-003.parquet"] * 2 + ["rows.parquet"]
    # The originals are as they were, and of the new files only the newest are kept.
    assert rows[1]["rows.parquetgen_0001"] == run.path(1, "rows.parquet").read_bytes()
    assert rows[2]["rows.parquetgen_0002"] == run.path(2, "rows.parquet").read_bytes()
    assert len(list(run.folder.rglob("reanalyzed-*"))) == 2
    assert not list(run.folder.glob("gen_*/reanalysis"))
    old, new = (pq.read_table(run.path(1, f"{name}.parquet")) for name in ("rows", "reanalyzed-003"))
    assert old["z"].equals(new["z"])
    changed = sum(a != b for a, b in zip(old["q"].to_pylist(), new["q"].to_pylist(), strict=True))
    # Rows keep the targets of generation 2 where generation 3 has not drawn them: 3 in 4 in all.
    assert 0.6 < changed / len(old) < 0.9


@pytest.mark.draws
def test_what_is_measured_is_shown(whole, tmp_path):
    run = whole[0]
    history = run.history()
    assert "reanalyze" not in history[0]
    for measured in history[1:]:
        found = measured["reanalyze"]
        assert found["rows"] == sum(each["reanalyzed"] for each in found["generations"].values())
        assert found["left"] == 0
        assert found["policy_change"] > 0
        assert found["rows_per_second"] == pytest.approx(found["rows"] / found["seconds"], rel=0.01)
        assert seconds_of(measured) > found["seconds"]
    with (run.folder / "metrics.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0])[-len(REANALYSIS_COLUMNS) :] == list(REANALYSIS_COLUMNS)
    assert lines[0]["reanalyzed_rows"] == ""
    assert int(lines[2]["reanalyzed_rows"]) == history[2]["reanalyze"]["rows"]
    write_dashboard(tmp_path, history)
    assert (tmp_path / "metrics.png").stat().st_size > 10_000


def test_the_stage_is_shown(whole, ckai):
    from ckai.cli.shared.run_tables import generation_text

    run = whole[0]
    measured = run.history()[2]
    rate = f"{measured['reanalyze']['rows_per_second']:,.0f}"
    assert f"rows reanalyzed at {rate}/s (policy changed by 0." in generation_text(measured)
    status, out, _ = ckai("runs", str(run.folder))
    assert status == 0
    assert [out.splitlines()[0].split()[-3:], out.splitlines()[1].split()[-2]] == [
        ["reanalyzed", "rows/s", "KL"],
        rate,
    ]


@pytest.mark.parametrize("moment", ["shard", "learn"])
def test_a_killed_reanalysis_goes_on(whole, tmp_path, monkeypatch, moment):
    monkeypatch.setattr(reanalysis, "SHARD_ROWS", SHARD_ROWS)
    shutil.copytree(whole[0].folder.with_name("two"), tmp_path / "run")
    run, seen = Run.open(tmp_path / "run"), set()

    def write_shard(table, path):
        if len(list(run.path(3).glob("reanalysis/*/*.parquet"))) == 2:
            seen.add(progress_of(run).text)
            raise KeyboardInterrupt
        real_write(table, path)

    def kill(event):
        if (event.generation, event.stage) == (3, "learn"):
            raise KeyboardInterrupt

    real_write = reanalysis.write_table
    if moment == "shard":
        monkeypatch.setattr(reanalysis, "write_table", write_shard)
    with pytest.raises(KeyboardInterrupt):
        run.go(3, kill)
    monkeypatch.setattr(reanalysis, "write_table", real_write)
    assert seen == ({"generation 3 of 3: reanalyzing older rows"} if moment == "shard" else set())
    assert not run.path(3, "candidate.ckpt").exists()
    if moment == "learn":
        damaged = run.path(1, "reanalyzed-003.parquet")
        damaged.write_bytes(damaged.read_bytes()[:-40])
        run.path(1, "reanalyzed-002.parquet").unlink()  # which it was made of, and so is made again too
    warnings = []
    Run.open(run.folder).go(3, lambda event: warnings.extend(filter(None, [event.info.get("warning")])))
    check_whole(run, 3)
    for name in ("gen_0003/rows", "gen_0001/reanalyzed-003", "gen_0002/reanalyzed-003"):
        ours, theirs = ((each.folder / f"{name}.parquet").read_bytes() for each in (run, whole[0]))
        assert ours == theirs
    assert len(warnings) == (moment == "learn")
    assert run.history()[2]["reanalyze"]["rows"] == whole[0].history()[2]["reanalyze"]["rows"]


def test_a_generation_may_be_played_meanwhile(tmp_path, network):
    run = Run.create(tmp_path / "run", network, replace(TINY, overlap=True))
    run.go(2, ignore_event)
    check_whole(run, 2)
    assert run.history()[1]["reanalyze"]["rows"] > 0


@pytest.mark.parametrize("model", ["swift", pytest.param("mlp", marks=pytest.mark.slow)])
def test_other_networks_and_games(tmp_path, model):
    game = "tictactoe" if model == "swift" else "go"
    network = build(model, {"hidden": 16, "encoding": game})
    selfplay = replace(TINY.selfplay, tables=0, max_plies=30)
    learn = replace(TINY.learn, reanalyze=1.0, reanalyze_sims=12)
    run = Run.create(tmp_path / "run", network, replace(TINY, game=game, selfplay=selfplay, learn=learn))
    run.go(2, ignore_event)
    found = run.history()[1]["reanalyze"]
    assert (found["rows"], found["visits"]) == (run.history()[0]["selfplay"]["rows"], 12)


def test_without_it_nothing_is_made(tmp_path, network):
    config = replace(TINY, learn=replace(TINY.learn, reanalyze=0.0))
    run = Run.create(tmp_path / "run", network, config)
    run.go(2, ignore_event)
    assert "reanalyze" not in json.loads(run.path(2, "done.json").read_text())
    assert not list(run.folder.rglob("*reanal*"))
    assert not set(REANALYSIS_COLUMNS) & set(
        (run.folder / "metrics.csv").read_text().split("\n")[0].split(",")
    )


def test_a_window_of_one_generation_is_refused():
    with pytest.raises(
        ValueError, match="expected a window of 2 or more generations with reanalyze, found 1"
    ):
        LearnConfig(window=1, reanalyze=0.1)


def test_the_command(whole, tmp_path, ckai, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = whole[0]
    words = ("reanalyze", str(run.folder), "--generation", "1", "--evaluator", "torch", "-o", "new.parquet")
    status, out, _ = ckai(*words, "--sims", "4", "--share", "0.5", "--json")
    assert status == 0
    found = json.loads(out)
    assert found["rows"] == pq.read_metadata("new.parquet").num_rows == run.history()[0]["selfplay"]["rows"]
    assert 0 < found["reanalyzed"] < found["rows"]
    status, _, err = ckai(*words)
    assert (status, err.strip().split("error: ")[1][:20]) == (1, "new.parquet: exists;")
    status, _, err = ckai("reanalyze", str(run.folder), "--generation", "8")
    assert status == 1
    assert "gen_0008/rows.parquet: expected a data set, found no such file" in err
