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
import pyarrow.parquet as pq
import pytest
import torch
from child_process import started
from whole_run import check_whole

from ckai.cli.web.runs import list_runs
from ckai.models.checkpoint import CheckpointError
from ckai.rl.loop.config import MAX_GAMES, MAX_GENERATIONS, GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.folder import RunError, fresh_folder, unfinished_run
from ckai.rl.loop.report import best_generation
from ckai.rl.loop.run import Run
from ckai.rl.loop.runs import find_selfplay
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.shards import Spent

TINY = RunConfig(
    games=6,
    selfplay=SelfPlayConfig(sims=8, in_flight=4, groups=2, max_plies=60),
    learn=LearnConfig(epochs=1, batch_size=64),
    gate=GateConfig(games=4),
)


def ignore_event(_event):
    pass


@pytest.mark.draws
def test_generations_follow_each_other(tmp_path, network):
    events = []
    run = Run.create(tmp_path / "run", network, TINY)
    run.go(2, events.append)
    check_whole(run, 2)
    assert [e.generation for e in events if e.stage == "done"] == [1, 2]
    assert {"selfplay", "learn", "gate", "done"} == {e.stage for e in events}
    for n in (1, 2):
        accepted = run.history()[n - 1]["accepted"]
        chosen = run.path(n, "candidate.ckpt") if accepted else run.path(n - 1, "network.ckpt")
        assert run.path(n, "network.ckpt").read_bytes() == chosen.read_bytes()
    assert (run.folder / "metrics.png").stat().st_size > 10_000
    assert (run.folder / "latest.ckpt").read_bytes() == run.path(2, "network.ckpt").read_bytes()


def test_what_does_not_belong_in_a_run_ends_nothing(tmp_path, network):
    run = Run.create(tmp_path / "runs" / "run", network, TINY.changed(["gate.games=0"]))
    run.go(1, ignore_event)
    for place in (run.path(2, "shards"), run.folder / "joined"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "folder.parquet").mkdir()
        (place / "a.parquet").write_bytes(b"no rows")
        (place / "notes.txt").write_text("mine")
    for stray in ("gen_abc", "gen_0009", "other/gen_0000", "other/config.json"):
        (run.folder / stray).mkdir(parents=True)
    (run.folder / "gen_0007").write_text("a file")
    run.go(2, ignore_event)
    check_whole(run, 2)
    assert [found.generations for found in find_selfplay(tmp_path / "runs")] == [2]
    assert "run" in list_runs(tmp_path)[0]["run"]


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
    from ckai.rl.loop import run as module

    lost = {"games": 2, "wins": 0, "draws": 0, "losses": 2, "score": 0.0, "elo": -1200.0, "accepted": False}
    monkeypatch.setattr(module, "play_gate_match", lambda *places, **more: lost)
    gate = GateConfig(games=2, rule="score")
    run = Run.create(tmp_path / "run", network, replace(TINY, gate=gate))
    run.go(1, ignore_event)
    first = run.path(0, "network.ckpt").read_bytes()
    assert run.path(1, "candidate.ckpt").read_bytes() != first
    for path in (run.path(1, "network.ckpt"), run.folder / "latest.ckpt", run.folder / "best.ckpt"):
        assert path.read_bytes() == first, path


def test_the_best_of_equals_is_the_newest():
    def measured(elo=None, accepted=True):
        return {"accepted": accepted, "match": {"games": 0} if elo is None else {"games": 4, "elo": elo}}

    assert best_generation([]) == 0
    assert best_generation([measured(), measured()]) == 2
    assert best_generation([measured(-10.0)]) == 0
    assert best_generation([measured(10.0), measured(-10.0), measured(10.0)]) == 3
    assert best_generation([measured(10.0), measured(90.0, accepted=False), measured(-1.0)]) == 2


def test_a_run_continues_where_it_stopped(tmp_path, network):
    Run.create(tmp_path / "run", network, TINY).go(1, ignore_event)
    before = (tmp_path / "run/gen_0001/done.json").read_bytes()
    run = Run.open(tmp_path / "run")
    assert run.config == TINY
    run.go(2, ignore_event)
    check_whole(run, 2)
    assert (tmp_path / "run/gen_0001/done.json").read_bytes() == before


def test_what_killed_processes_left_is_removed(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    left = [run.folder / ".tensorboard.4711.tmp" / "events", run.folder / ".metrics.csv.4711.3.tmp"]
    for path in left:
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    run.go(0, ignore_event)
    assert not list(run.folder.rglob(".*.tmp"))


def test_without_a_match_every_network_is_accepted(tmp_path, network):
    run = Run.create(tmp_path / "run", network, RunConfig.from_dict({**TINY.to_dict(), "gate": {"games": 0}}))
    run.go(1, ignore_event)
    assert run.history()[0]["accepted"]
    assert run.path(1, "network.ckpt").read_bytes() == run.path(1, "candidate.ckpt").read_bytes()


def test_games_already_written_are_not_played_again(tmp_path, network, monkeypatch):
    run = Run.create(tmp_path / "run", network, TINY)
    from ckai.rl.loop import playing as module

    played, resumed = [], []
    real = module.play_games

    def stops_halfway(evaluator, config, numbers, *, on_game, **rest):
        def note(game):
            if len(played) >= 2 and not resumed:  # in both groups, if the other one ends a game meanwhile
                played[2:] = [None]
                raise KeyboardInterrupt
            played.append(game.number)
            on_game(game)

        return real(evaluator, config, numbers, on_game=note, **rest)

    monkeypatch.setattr(module, "play_games", stops_halfway)
    with pytest.raises(KeyboardInterrupt):
        run.go(1, ignore_event)
    assert len(played) == 3
    before = Spent.read(run.path(1, "shards"))
    assert before.evaluations > 0
    resumed.append(True)
    run.go(1, ignore_event)
    # The time of all games, not of those since the interruption.
    measured = run.history()[0]["selfplay"]
    assert measured["seconds"] > before.seconds > 0
    assert measured["evaluations_per_second"] * measured["seconds"] > before.evaluations
    assert sorted(played[:2] + played[3:]) == list(range(MAX_GAMES, MAX_GAMES + 6))
    check_whole(run, 1)


def test_a_damaged_shard_is_reported_and_played_again(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    shards = run.path(1, "shards")
    shards.mkdir(parents=True)
    (shards / "000001000000.parquet").write_bytes(b"PAR1 half a shard")
    events = []
    run.go(1, events.append)
    warnings = [e.info["warning"] for e in events if "warning" in e.info]
    assert len(warnings) == 1
    assert "000001000000.parquet" in warnings[0]
    check_whole(run, 1)


def test_a_half_written_training_state_is_named(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    run.path(1).mkdir()
    run.path(1, "training.ckpt").write_bytes(b"half")
    with pytest.raises(CheckpointError, match=r"training\.ckpt"):
        run.go(1, ignore_event)
    run.path(1, "training.ckpt").unlink()
    run.go(1, ignore_event)
    check_whole(run, 1)


def test_damaged_numbers_are_named(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    run.go(2, ignore_event)
    before = run.history()
    run.path(1, "done.json").write_text('{"generation": ')
    with pytest.raises(RunError, match=r"done\.json: expected measurements as JSON, found a damaged file"):
        run.go(3, ignore_event)
    run.path(1, "done.json").unlink()  # as the message says
    run.go(2, ignore_event)
    assert [measured["generation"] for measured in run.history()] == [1, 2]
    assert run.history()[0]["selfplay"] == before[0]["selfplay"]


@pytest.mark.parametrize("writes", [16, *(pytest.param(n, marks=pytest.mark.slow) for n in (0, 4, 10))])
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
    assert (summary.status, summary.generations, summary.target) == ("unfinished", 1, 2)
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
    from ckai.rl.loop import folder as module

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
    assert {path.name for path in folder.iterdir()} == {"gen_0000", "config.json", "target.json", ".lock"}
    assert (run.status, run.target) == ("unfinished", 3)


def test_two_processes_do_not_create_the_same_run(tmp_path, network, monkeypatch):
    from ckai.rl.loop import folder as module

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


def test_more_generations_than_row_files_can_number_are_refused(tmp_path, network):
    assert np.iinfo(np.int32).max // MAX_GAMES >= MAX_GENERATIONS + 1
    with pytest.raises(RunError, match="expected at most 2,146 generations, found 2,147; begin a new run"):
        Run.create(tmp_path / "run", network, TINY).go(2147, ignore_event)


def test_a_log_of_tensorboard_that_cannot_be_removed_ends_no_run(tmp_path, network, monkeypatch):
    """On a network file system, files that TensorBoard has open stay in their folder."""
    from ckai.rl.loop import dashboard as module

    (tmp_path / "tensorboard").mkdir()
    (tmp_path / "tensorboard" / "open").touch()
    monkeypatch.setattr(module.shutil, "rmtree", lambda *arguments, **more: None)
    module._tensorboard(tmp_path / "tensorboard", [{"generation": 1, "games": 4}])
    assert [path.name.partition(".")[0] for path in (tmp_path / "tensorboard").iterdir()] == ["events"]


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


def test_a_run_needs_a_checkpoint(tmp_path):
    (tmp_path / "no.ckpt").write_text("not a network")
    with pytest.raises(CheckpointError):
        Run.create(tmp_path / "run", tmp_path / "no.ckpt", TINY)


@pytest.mark.parametrize(
    "wrong",
    [
        {"games": 0},
        {"gate": {"games": 3}},
        {"learn": {"q_weight": 2}},
        {"selfplay": {"sims": 0}},
        {"learn": 3},
        {"learn": {"lr": "high"}},
        {"selfplay": {"sims": 8.5}},
        {"selfplay": {"sims": True}},
        {"overlap": 1},
        {"learn": {"lrate": 0.1}},
        {"learn": {"ema": 1.0}},
        {"learn": {"reuse": -1}},
        {"gate": {"rule": "luck"}},
        {"gate": {"elo1": 0.0}},
    ],
    ids=str,
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=r"expected|unknown setting"):
        RunConfig.from_dict(wrong)


def test_settings_given_as_texts():
    pairs = ["learn.batch_size=64", "learn.q_first=0", "gate.rule=sprt", "games=7", "overlap=true"]
    config = TINY.changed(pairs)
    assert (config.learn.batch_size, config.learn.q_first, config.gate.rule) == (64, 0, "sprt")
    assert (config.games, config.overlap, config.selfplay) == (7, True, TINY.selfplay)
    assert TINY.changed([]) == TINY
    for wrong, message in {
        "learn.batch_size": "found 'learn.batch_size'",
        "learn.size=3": "unknown setting learn.size",
        "lern.size=3": "unknown setting lern",
        "games.size=3": "unknown setting games.size",
        "learn.batch_size=many": "expected an integer for learn.batch_size, found 'many'",
        "learn.batch_size=-1": "batch_size >= 1",
        "learn=3": "unknown setting learn",
    }.items():
        with pytest.raises(ValueError, match=re.escape(message)):
            TINY.changed([wrong])


def test_any_setting_from_the_command_line(tmp_path, network, ckai):
    run = ("selfplay", "--init", network, "--run", tmp_path / "run", "--generations", 0)
    status, _, err = ckai(*run, "--setting", "learn.batch_size=many")
    assert status != 0
    assert "expected an integer for learn.batch_size, found 'many'" in err
    assert not (tmp_path / "run").exists()
    assert ckai(*run, "--games", 5, "--setting", "learn.batch_size=64")[0] == 0
    config = Run.open(tmp_path / "run").config
    assert (config.learn.batch_size, config.games) == (64, 5)
    status, _, err = ckai(*run, "--setting", "learn.batch_size=32")
    assert status != 0
    assert "is a run with its own settings; give --run OTHER" in err


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
    for _ in range(10):
        with started(again) as process:
            time.sleep(rng.uniform(1.0, 9.0))
            in_the_middle += process.poll() is None
            process.send_signal(signal.SIGKILL)
            process.communicate()
    assert in_the_middle
    done = subprocess.run(again, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["generations"] == 3
    check_whole(Run.open(tmp_path / "run"), 3)


OVERLAPPING = RunConfig.from_dict({**TINY.to_dict(), "overlap": True})


@pytest.mark.slow
def test_a_generation_is_played_while_the_one_before_is_learned(tmp_path, network):
    events = []
    run = Run.create(tmp_path / "run", network, OVERLAPPING)
    run.go(3, events.append)
    check_whole(run, 3)
    stages = [(e.generation, e.stage) for e in events]
    for n in (2, 3):
        assert stages.index((n, "selfplay")) < stages.index((n - 1, "done"))
    # Nothing is played that was not asked for.
    assert not run.path(4).exists()


@pytest.mark.slow
def test_overlapping_generations_are_the_same_however_the_run_was_stopped(tmp_path, network):
    whole = Run.create(tmp_path / "whole", network, OVERLAPPING)
    whole.go(2, ignore_event)
    stepwise = Run.create(tmp_path / "stepwise", network, OVERLAPPING)
    stepwise.go(1, ignore_event)
    stepwise.go(2, ignore_event)
    for n in (1, 2):
        rows = [pq.read_table(run.path(n, "rows.parquet")) for run in (whole, stepwise)]
        assert rows[0].equals(rows[1])
    # Generation 2 is played by the first network, as generation 1 is, and generation 3 by network 1.
    stepwise.go(3, ignore_event)
    names = [set(re.findall(r'"ckai (.*)"', stepwise.path(n, "games.pdn").read_text())) for n in (1, 2, 3)]
    assert names == [{"generation 0"}, {"generation 0"}, {"generation 1"}]
    assert [measured["selfplay"]["network"] for measured in stepwise.history()] == [0, 0, 1]


@pytest.mark.slow
def test_an_error_while_learning_ends_the_games_too(tmp_path, network, monkeypatch):
    from ckai.rl.loop import run as module

    run = Run.create(tmp_path / "run", network, OVERLAPPING)

    def fails(*given, **more):
        time.sleep(0.5)
        raise ValueError("learning failed")

    monkeypatch.setattr(module, "learn", fails)
    with pytest.raises(ValueError, match="learning failed"):
        run.go(3, ignore_event)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("generation")]
    monkeypatch.undo()
    run.go(2, ignore_event)
    check_whole(run, 2)


def test_an_error_in_games_played_ahead_is_raised(tmp_path, network, monkeypatch):
    from ckai.rl.loop import playing as module

    run, real = Run.create(tmp_path / "run", network, OVERLAPPING), module.play_games

    def fails(evaluator, config, numbers, **rest):
        if numbers.generation == 2:
            raise ValueError("playing failed")
        return real(evaluator, config, numbers, **rest)

    monkeypatch.setattr(module, "play_games", fails)
    with pytest.raises(ValueError, match="playing failed"):
        run.go(3, ignore_event)
    assert run.generations == 1
