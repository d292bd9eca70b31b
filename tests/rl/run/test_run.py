"""A self-play run: generations, interruptions, kills and damaged files."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from child_process import started
from whole_run import check_whole

from ckai.datasets.reader import read_rows
from ckai.pdn import read_games
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.run.dashboard import best_generation
from ckai.rl.run.run import Run, RunError
from ckai.rl.run.runs import find_selfplay, fresh_folder, unfinished_run
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.shards import Shard

TINY = RunConfig(
    games=6,
    selfplay=SelfPlayConfig(sims=8, in_flight=4, groups=2, max_plies=60),
    learn=LearnConfig(epochs=1, batch_size=64),
    gate=GateConfig(games=4),
)


def ignore_event(_event):
    pass


def test_generations_follow_each_other_and_an_interruption(tmp_path, network):
    events = []
    Run.create(tmp_path / "run", network, TINY).go(1, events.append)
    files = [path for path in (tmp_path / "run").rglob("*0*.*") if "tensorboard" not in str(path)]
    before = {path: path.read_bytes() for path in files}
    run = Run.open(tmp_path / "run")
    assert run.config == TINY
    run.go(2, events.append)
    assert len(before) > 4
    assert {path: path.read_bytes() for path in before} == before  # the folder only grows
    check_whole(run, 2)
    assert [e.generation for e in events if e.stage == "done"] == [1, 2]
    assert {"selfplay", "learn", "gate", "done"} == {e.stage for e in events}
    for n in (1, 2):
        assert run.match_path(n).read_text().count("[Round ") == run.history()[n - 1]["match"]["games"] == 4
    assert (run.folder / "metrics.png").exists()
    assert (run.folder / "latest.ckpt").read_bytes() == run.network_path(2).read_bytes()


@pytest.mark.slow
def test_what_does_not_belong_in_a_run_ends_nothing(tmp_path, network):
    run = Run.create(tmp_path / "runs" / "run", network, TINY.changed(["gate.games=0"]))
    run.go(1, ignore_event)
    (run.folder / "games" / "folder.parquet").mkdir()
    (run.folder / "games" / "a.parquet").write_bytes(b"no rows")
    (run.folder / "games" / "notes.txt").write_text("mine")
    for stray in ("gen_abc", "other/networks", "other/config.json"):
        (run.folder / stray).mkdir(parents=True)
    (run.folder / "generations" / "0007.json").write_text("a file")
    events = []
    run.go(2, events.append)
    check_whole(run, 2)
    (warning,) = {event.info["warning"] for event in events if "warning" in event.info}
    assert "a.parquet: left out: " in warning
    assert [found["generations"] for found in find_selfplay(tmp_path / "runs")] == [2]


@pytest.mark.slow
def test_a_run_trains_on_targets_of_its_own(tmp_path, network):
    seen = []

    class Doubting(Run):
        def transform(self, batch):
            seen.append(len(batch["z"]))
            return {**batch, "q": torch.zeros_like(batch["q"])}

    config = TINY.changed(["gate.games=0", "learn.q_weight=1"])
    run = Doubting.create(tmp_path / "run", network, config)
    run.go(1, ignore_event)
    learned = run.history()[-1]["learn"]
    assert sum(seen) == learned["rows"]
    other = Run.create(tmp_path / "other", network, config)
    other.go(1, ignore_event)
    assert other.history()[-1]["learn"]["train_value_loss"] != learned["train_value_loss"]


def test_a_rejected_network_is_not_published(tmp_path, network, monkeypatch):
    from ckai.rl.run import generation as module

    lost = {"games": 2, "wins": 0, "draws": 0, "losses": 2, "score": 0.0, "elo": -1200.0, "accepted": False}
    monkeypatch.setattr(module, "play_gate_match", lambda *places, **more: lost)
    gate = GateConfig(games=2, rule="score")
    run = Run.create(tmp_path / "run", network, replace(TINY, gate=gate))
    run.go(1, ignore_event)
    first = run.network_path(0).read_bytes()
    assert run.network_path(1).read_bytes() != first
    for path in (run.network, run.folder / "latest.ckpt", run.folder / "best.ckpt"):
        assert path.read_bytes() == first, path
    run.go(2, ignore_event)
    check_whole(run, 2)
    assert [measured["selfplay"]["network"] for measured in run.history()] == [0, 0]


def test_the_best_of_equals_is_the_newest():
    def measured(elo=None, accepted=True):
        return {"accepted": accepted, "match": {"games": 0} if elo is None else {"games": 4, "elo": elo}}

    assert best_generation([]) == 0
    assert best_generation([measured(), measured()]) == 2
    assert best_generation([measured(-10.0)]) == 0
    assert best_generation([measured(10.0), measured(-10.0), measured(10.0)]) == 3
    assert best_generation([measured(10.0), measured(90.0, accepted=False), measured(-10.0)]) == 2
    assert best_generation([measured(-6.8), measured(3.4), measured(0.0)]) == 3  # equals


def test_what_killed_processes_left_is_removed(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    left = [run.folder / ".tensorboard.4711.tmp" / "events", run.folder / ".metrics.csv.4711.3.tmp"]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    run.go(0, ignore_event)
    assert not list(run.folder.rglob(".*.tmp"))


def games_of(run, n):
    """The games of a generation: what is known of them, and their rows."""
    found = [Shard.read_rows(path) for path in run.shards(n)]
    headers = sorted((game for shard, _ in found for game in shard.games), key=lambda game: game.game)
    rows = pa.concat_tables([table for _, table in found])
    return headers, rows.sort_by([("game", "ascending"), ("ply", "ascending"), ("hop", "ascending")])


@pytest.mark.slow
def test_the_same_seed_gives_the_same_games(tmp_path, network, monkeypatch):
    """In however many shards: those depend on the time. Another seed gives others."""
    run = Run.create(tmp_path / "run", network, TINY)
    monkeypatch.setattr("ckai.rl.run.worker.SHARD_SECONDS", 1e9)
    run.go(2)
    monkeypatch.setattr("ckai.rl.run.worker.SHARD_SECONDS", 0.0)
    monkeypatch.setattr("ckai.rl.run.worker.TICK_SECONDS", 0.001)
    again = Run.create(tmp_path / "again", network, TINY)
    again.go(2)
    assert len(again.shards()) > len(run.shards()) == 2
    for n in (1, 2):
        (headers, rows), (others, other_rows) = games_of(run, n), games_of(again, n)
        assert headers == others
        assert rows.equals(other_rows)
    other = Run.create(tmp_path / "other", network, replace(TINY, seed=1))
    other.go(1)
    assert games_of(other, 1)[0] != games_of(run, 1)[0]


@pytest.mark.slow
def test_games_on_disk_are_not_played_again_and_the_others_begin_as_they_were(tmp_path, network, monkeypatch):
    monkeypatch.setattr("ckai.rl.run.worker.SHARD_SECONDS", 0.0)
    monkeypatch.setattr("ckai.rl.run.worker.TICK_SECONDS", 0.001)
    whole, stopped = (Run.create(tmp_path / name, network, TINY) for name in ("whole", "stopped"))
    whole.go(1)
    keep, kept = Run.keep, []

    def stops(run, name, shard):
        keep(run, name, shard)
        kept.append(name)
        if len(kept) in (1, 3):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Run, "keep", stops)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                Run.open(stopped.folder).go(2)
    assert stopped.generations == 0
    kept_shards = (stopped.folder / "games").glob("*.parquet")
    assert 0 < sum(len(Shard.read_rows(path)[0].games) for path in kept_shards) < 6
    stopped.go(1)
    check_whole(stopped, 1)
    assert games_of(whole, 1)[0] == games_of(stopped, 1)[0]
    measured = stopped.history()[0]["selfplay"]
    assert measured["seconds"] > 0 < measured["evaluations_per_second"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-900]), "Parquet"),
        (lambda path: flip(path), "CRC"),
    ],
)
@pytest.mark.slow
def test_a_damaged_shard_is_reported_and_played_again(tmp_path, network, monkeypatch, damage, message):
    run = Run.create(tmp_path / "run", network, TINY)
    monkeypatch.setattr("ckai.rl.run.worker.SHARD_SECONDS", 1e9)  # one shard, however slow the machine is

    def stop(event):
        if event.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.go(1, stop)
    (path,) = (run.folder / "games").glob("*.parquet")
    damage(path)
    events = []
    run.go(1, events.append)
    (warning,) = {e.info["warning"] for e in events if "warning" in e.info}
    assert re.match(rf".*{path.name}: left out: .*{message}", warning)
    check_whole(run, 1)


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 4] ^= 1
    path.write_bytes(data)


@pytest.mark.slow
def test_a_game_that_two_shards_have_counts_once(tmp_path, network, monkeypatch):
    run = Run.create(tmp_path / "run", network, TINY)
    monkeypatch.setattr("ckai.rl.run.worker.SHARD_SECONDS", 1e9)
    run.go(1)
    shard = run.shards()[0]
    shard.with_name("0000-run-000009.parquet").write_bytes(shard.read_bytes())
    assert run.new_games().look() == []
    rows = read_rows(run.shards())
    assert len(read_rows([*run.shards(), *(run.folder / "games").glob("*.parquet")])) == len(rows)
    run.go(2)
    assert run.history()[1]["selfplay"]["games"] == 6


@pytest.mark.slow
def test_damaged_numbers_are_named(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    run.go(2, ignore_event)
    before = run.history()
    run.measured_path(1).write_text('{"generation": ')
    with pytest.raises(RunError, match=r"0001\.json: expected measurements as JSON, found a damaged file"):
        run.go(3, ignore_event)
    run.measured_path(1).unlink()  # as the message says
    run.go(2, ignore_event)
    assert [measured["generation"] for measured in run.history()] == [1, 2]
    assert run.history()[0]["selfplay"] == before[0]["selfplay"]


@pytest.mark.slow
@pytest.mark.parametrize("writes", [16, 4])
def test_a_full_disk_damages_nothing(tmp_path, network, monkeypatch, writes):
    run = Run.create(tmp_path / "run", network, TINY)
    left, sync = [writes], os.fsync

    def full(file):
        if os.path.isdir(f"/proc/self/fd/{file}"):
            return sync(file)
        if left[0] == 0:
            raise OSError(28, "No space left on device")
        left[0] -= 1
        return sync(file)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"run/.*: cannot be written \(No space left on device\)"):
        run.go(2, ignore_event)
    monkeypatch.undo()
    Run.open(run.folder).go(2, ignore_event)
    check_whole(run, 2)


@pytest.mark.slow
def test_the_status_of_a_run(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    run.set_target(1)
    seen = {run.status}
    assert seen == {"unfinished"}
    run.go(1, lambda event: seen.add(Run.open(run.folder).status))
    assert seen == {"unfinished", "running"}
    assert (run.status, run.target) == ("finished", 1)

    def stop(event):
        if event.stage == "learn":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.go(2, stop)  # raised and killed
    assert (run.status, run.target) == ("unfinished", 2)
    (summary,) = find_selfplay(tmp_path)
    assert [summary[name] for name in ("status", "generations", "target")] == ["unfinished", 1, 2]
    run.go(2, ignore_event)
    run.go(1, ignore_event)  # has more already
    assert (run.status, run.target) == ("finished", 2)


def test_the_newest_of_the_numbered_runs(tmp_path, network):
    assert unfinished_run(tmp_path) is None
    for name in ("run-001", "run-010", "run-9", "run-old", "other"):
        Run.create(tmp_path / name, network, TINY, generations=1)
    (tmp_path / "run-011").mkdir()
    assert unfinished_run(tmp_path).folder == tmp_path / "run-010"
    Run.open(tmp_path / "run-010").set_target(0)
    assert unfinished_run(tmp_path) is None


def test_a_new_run_comes_after_all_others(tmp_path, network):
    assert fresh_folder(tmp_path) == tmp_path / "run-001"
    Run.create(tmp_path / "run-002", network, TINY)  # run-001 was deleted
    assert fresh_folder(tmp_path) == tmp_path / "run-003"


@pytest.mark.parametrize("killed_in", ["config.json", "target.json"])
def test_a_run_killed_while_it_was_created_is_created_again(tmp_path, network, monkeypatch, killed_in):
    from ckai.rl.run import run as module

    folder, real = tmp_path / "run", module.write_whole

    def killed(path, data):
        if path.name == killed_in:
            path.with_name(f".{path.name}.99999999.0.tmp").write_text("half")
            raise KeyboardInterrupt
        real(path, data)

    monkeypatch.setattr(module, "write_whole", killed)
    with pytest.raises(KeyboardInterrupt):
        Run.create(folder, network, TINY, generations=3)
    assert not Run.exists(folder)
    monkeypatch.undo()
    run = Run.create(folder, network, TINY, generations=3)
    assert {path.name for path in folder.iterdir()} == {"networks", "config.json", "target.json", ".lock"}
    assert (run.status, run.target) == ("unfinished", 3)


def test_two_processes_do_not_create_the_same_run(tmp_path, network, monkeypatch):
    from ckai.models import checkpoint as module

    folder, real, others = tmp_path / "run", module.save_checkpoint, []

    def meanwhile(*arguments, **more):
        try:
            Run.create(folder, network, replace(TINY, seed=7))
        except RunError as error:
            others.append(str(error))
        real(*arguments, **more)

    monkeypatch.setattr(module, "save_checkpoint", meanwhile)
    Run.create(folder, network, TINY)
    assert len(others) == 1
    assert "another process works on this run" in others[0]
    monkeypatch.undo()
    with pytest.raises(RunError, match="expected a new or empty folder, found a run"):
        Run.create(folder, network, replace(TINY, seed=7))
    assert Run.open(folder).config == TINY


def test_two_processes_do_not_share_a_run(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    with run.lock(), pytest.raises(RunError, match="another process works on this run; wait for it"):
        Run.open(tmp_path / "run").go(1, ignore_event)


def test_a_folder_that_is_not_a_run_is_left_alone(tmp_path, network):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("hello")
    with pytest.raises(RunError, match="not a run"):
        Run.create(tmp_path / "letters", network, TINY)
    with pytest.raises(RunError, match=r"config\.json"):
        Run.open(tmp_path / "letters")


def test_folders_that_cannot_be_used_are_refused_in_plain_words(tmp_path, network, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"file: expected a run with a config\.json, found none"):
        Run.open(tmp_path / "file")
    with pytest.raises(RunError, match="file: expected a new or empty folder, found a file; choose another"):
        Run.create(tmp_path / "file", network, TINY)
    with pytest.raises(RunError, match=r"cannot be created \(Not a directory\); choose another or"):
        Run.create(tmp_path / "file" / "run", network, TINY)
    Run.create(tmp_path / "run", network, TINY)

    def denied(*arguments, **more):
        raise PermissionError(13, "Permission denied", "config.json")

    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(RunError, match=r"config\.json: cannot be read \(Permission denied\); check the perm"):
        Run.open(tmp_path / "run")


def test_unknown_settings_are_named(tmp_path, network):
    Run.create(tmp_path / "run", network, TINY)
    path = tmp_path / "run" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "speed": 3}))
    with pytest.raises(RunError, match="unknown setting speed"):
        Run.open(tmp_path / "run")


def command(folder: Path, network: Path) -> list[str]:
    return [
        sys.executable, "-m", "ckai.cli.main", "selfplay", "--init", str(network), "--run", str(folder),
        "--generations", "3", "--games", "6", "--sims", "8", "--gate-games", "4",
        "--setting", "selfplay.in_flight=4",
        "--epochs", "1", "--json",
    ]  # fmt: skip


@pytest.mark.slow
def test_kills_at_random_moments(tmp_path, network):
    again, rng, in_the_middle = command(tmp_path / "run", network), random.Random(2), 0
    for _ in range(6):
        with started(again) as process:
            time.sleep(rng.uniform(1.0, 6.0))
            in_the_middle += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.communicate()
    assert in_the_middle
    done = subprocess.run(again, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["generations"] == 3
    check_whole(Run.open(tmp_path / "run"), 3)


# --- playing while learning -------------------------------------------------------------------------------

PLAYING_ON = TINY.changed(["overlap=true", "gate.games=2"])


@pytest.fixture
def fast(monkeypatch):
    """Networks and shards change hands quickly."""
    for name in ("worker.TICK_SECONDS", "worker.SHARD_SECONDS", "run.LOOK_SECONDS"):
        monkeypatch.setattr(f"ckai.rl.run.{name}", 0.02)


def slow_learning(monkeypatch, until):
    """Let learning last until a condition holds."""
    from ckai.rl.run import generation as module

    real = module.learn

    def learn(*given, **more):
        begun = time.monotonic()
        while not until():
            assert time.monotonic() - begun < 60
            time.sleep(0.02)
        return real(*given, **more)

    monkeypatch.setattr(module, "learn", learn)


@pytest.mark.slow
@pytest.mark.usefixtures("fast")
def test_playing_does_not_wait_for_learning(tmp_path, network, monkeypatch):
    """Finished games are replaced at once, and games in progress continue with the new network."""
    run = Run.create(tmp_path / "run", network, PLAYING_ON)
    slow_learning(monkeypatch, lambda: (new := run.new_games()).look() or new.count >= 10)
    run.go(4)
    check_whole(run, 4)
    tables = [pq.read_table(path).to_pandas() for path in run.shards()]
    assert all(
        list(game["generation"]) == sorted(game["generation"])
        for t in tables
        for _, game in t.groupby("game")
    )
    # The window is of the newest games: not of all that were played meanwhile.
    sizes = [len(Shard.read_rows(path)[0].games) for path in run.window(4)]
    assert 4 * 6 <= sum(sizes) < 4 * 6 + max(sizes)
    assert sum(measured["selfplay"]["games"] for measured in run.history()) > 34


@pytest.mark.slow
@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize("fails", ["learn", "play_games"])
def test_an_error_ends_playing_and_learning(tmp_path, network, monkeypatch, fails):
    run = Run.create(tmp_path / "run", network, PLAYING_ON)

    def failing(*given, **more):
        raise ValueError(f"{fails} failed")

    with monkeypatch.context() as patch:
        patch.setattr(f"ckai.rl.run.{'generation' if fails == 'learn' else 'worker'}.{fails}", failing)
        with pytest.raises(ValueError, match=f"{fails} failed"):
            run.go(3)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("self-play")]
    run.go(1)
    check_whole(run, 1)


# --- comparing runs ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.draws
def test_runs_of_several_seeds_are_compared(tmp_path, network, ckai, monkeypatch):
    """A line for each setting, with the interval of the mean over its seeds; the games as PDN."""
    from matplotlib.axes import Axes

    for seed, sims in ((1, 8), (2, 8), (3, 8), (1, 4)):
        config = TINY.changed([f"seed={seed}", f"selfplay.sims={sims}", "games=2", "gate.games=2"])
        run = Run.create(tmp_path / f"{sims}-{seed}", network, config)
        run.go(1)
    drawn, bands, plot, fill = [], [], Axes.plot, Axes.fill_between
    with monkeypatch.context() as patch:
        patch.setattr(Axes, "plot", lambda axis, x, y, **more: drawn.append(more) or plot(axis, x, y, **more))
        patch.setattr(Axes, "fill_between", lambda *of, **more: bands.append(of[2:]) or fill(*of, **more))
        status, _, err = ckai("runs", *sorted(tmp_path.glob("?-?")), "--plot", tmp_path / "a.png")
    assert status == 0, err
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert sorted({more["label"] for more in drawn}) == ["4-1", "8-1 and 2 more"]
    plies = [Run.open(tmp_path / f"8-{seed}").history()[0]["selfplay"]["plies_mean"] for seed in (1, 2, 3)]
    half = 4.30 * np.std(plies, ddof=1) / 3**0.5
    wanted = np.array([np.mean(plies) - half, np.mean(plies) + half])
    assert any(np.allclose(np.ravel(band), wanted) for band in bands)
    status, _, err = ckai("runs", tmp_path, "--plot", tmp_path / "a.png")
    assert status == 1
    assert "a.png exists: give --force" in err
    assert ckai("games", tmp_path / "8-1", "-o", tmp_path / "b.pdn")[0] == 0
    assert len(list(read_games(tmp_path / "b.pdn"))) == 2
    (tmp_path / "none").mkdir()
    assert ckai("runs", tmp_path / "none", "--plot", tmp_path / "c.png")[0] == 2
