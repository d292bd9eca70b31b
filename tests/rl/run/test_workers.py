"""Workers: games that are played anywhere, and are in the run once."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest
from whole_run import check_whole

from ckai.cli.shared.run_screen import generation_text
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.run.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import Numbers, play_games
from ckai.rl.selfplay.shards import Shard, ShardWriter

TINY = RunConfig(
    games=16,
    selfplay=SelfPlayConfig(sims=8, in_flight=4, groups=1, max_plies=60),
    learn=LearnConfig(epochs=1, batch_size=64),
    gate=GateConfig(games=0),
)
LONG = replace(TINY, games=60, selfplay=replace(TINY.selfplay, sims=50))


def played(numbers):
    found = []
    config = SelfPlayConfig(sims=2, in_flight=8, groups=1, max_plies=12, tables=0)
    play_games(UniformEvaluator(), config, tuple(numbers), seed=5, on_game=found.append)
    return found


@pytest.fixture
def run(tmp_path, network):
    return Run.create(tmp_path / "run", network, TINY, generations=2)


def delivered(run, numbers, worker="w", **more):
    """Games of a worker, as it delivers them."""
    said = {"settings": run.config.hash(), "networks": {"0": "a" * 32}, "evaluations": 100, "seconds": 2.0}
    return Shard(worker, **{**said, **more}).pack(played(numbers))


def taken(numbers, group):
    return list(iter(partial(numbers.take, group), None))


def test_no_more_games_are_begun_than_a_generation_lacks():
    others = [0]
    numbers = Numbers.fixed(range(8), 2, others=lambda: others[0])
    assert [numbers.take(group) for group in (0, 1, 0, 1)] == [0, 1, 2, 3]
    others[0] = 3
    assert numbers.take(0) == 4
    assert numbers.take(0) is numbers.take(1) is None
    assert taken(Numbers.fixed(range(8), 2, {0, 1, 5}), 0) == [2, 4, 7]


def test_games_of_one_network_are_limited_until_there_is_another():
    numbers = Numbers.counting(2, 3)
    assert taken(numbers, 0) == [0, 1, 2]
    numbers.renew()
    assert taken(numbers, 1) == [3, 4, 5]


def test_a_game_is_one_of_its_worker_and_counts_once(run):
    for name, numbers, worker in (("1", range(3), "one"), ("2", range(2, 5), "two"), ("3", range(3), "one")):
        run.keep(f"0000-{worker}-{name}.parquet", delivered(run, numbers, worker))
    new = run.new_games()
    assert new.look() == []
    assert new.count == 6
    assert {name: played.games for name, played in new.others.items()} == {"one": 3, "two": 3}
    new.learn(run.learned_path(1))
    learned = run.learned(1)
    assert list(learned.files) == ["0000-one-1.parquet", "0000-two-2.parquet"]
    assert learned.measured["workers"] == {
        "count": 2,
        "games": 6,
        "refused": 0,
        "by_worker": {"one": 3, "two": 3},
    }
    assert (learned.measured["seconds"], learned.measured["evaluations_per_second"]) == (2.0, 100.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda run: delivered(run, (1,))[:900], "Parquet"),
        (lambda run: b"", "Parquet"),
        (lambda run: delivered(run, (1,), version="9.9.9"), r"expected ckai \S*, found 9\.9\.9 of w$"),
        (
            lambda run: delivered(run, (1,), settings="b" * 16),
            r"expected the settings \w{16}, found b{16} of w",
        ),
        (lambda run: Shard("w", run.config.hash()).pack([*played((1,))] * 2), "different games"),
    ],
)
def test_what_is_damaged_or_of_others_is_left_out_in_one_line(run, change, message):
    run.keep("0000-w-0.parquet", change(run))
    run.keep("0000-w-1.parquet", delivered(run, (1,)))
    new = run.new_games()
    (line,) = new.look()
    assert re.search(message, line)
    assert "\n" not in line
    assert new.count == 1


def test_a_shard_that_cannot_be_delivered_is_delivered_later(tmp_path):
    kept, full = [], [True]

    def deliver(name, shard):
        if full[0]:
            raise OSError("full")
        kept.append((name, shard))

    writer = ShardWriter(Shard("w", "s"), deliver)
    writer.networks[0] = "a" * 32
    for game in played(range(3)):
        writer.add(game)
    with pytest.raises(OSError, match="full"):
        writer.flush(10)
    full[0] = False
    writer.flush(20)
    writer.flush(30)
    ((name, data),) = kept
    (tmp_path / name).write_bytes(data)
    shard, table = Shard.read_rows(tmp_path / name)
    assert re.fullmatch(r"0000-.*-000000\.parquet", name)
    assert ([game.game for game in shard.games], shard.evaluations) == ([0, 1, 2], 20)
    assert shard.networks == {"0": "a" * 32}
    assert set(table["game"].to_pylist()) == {0, 1, 2}


def test_a_worker_of_another_version_says_so(run):
    (run.folder / "target.json").write_text('{"generations": 1, "version": "9.9.9"}')
    with pytest.raises(
        RuntimeError, match=r"^expected ckai 9\.9\.9 as in the run's process, found \S+; install the same"
    ):
        Run.open(run.folder).join(backend="torch")


@contextmanager
def joined(folder):
    """A worker in threads of this process."""
    stop, errors = threading.Event(), []

    def work():
        try:
            Run.open(folder).join(backend="torch", stop=stop)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not errors


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [False, True])
def test_a_run_with_a_worker_that_joins(tmp_path, network, monkeypatch, overlap):
    for name in ("worker.TICK_SECONDS", "worker.SHARD_SECONDS", "run.LOOK_SECONDS"):
        monkeypatch.setattr(f"ckai.rl.run.{name}", 0.05)
    config = replace(LONG, games=24, overlap=overlap)
    run = Run.create(tmp_path / "run", network, config, generations=2)
    events = []
    with joined(run.folder):
        run.go(2, events.append)
    shown = [event.info["workers"] for event in events if "workers" in event.info]
    assert len(shown[-1]) == 1
    check_whole(run, 2)
    counts = [measured["selfplay"]["workers"] for measured in run.history()]
    assert all(each["games"] > 0 and not each["refused"] for each in counts)
    alone = Run.create(tmp_path / "alone", network, config)
    alone.go(1)
    assert "workers" not in alone.history()[0]["selfplay"]
    assert "played" in generation_text(run.history()[0])
    assert "worker" not in generation_text(alone.history()[0])


# --- kills -----------------------------------------------------------------------------------------------


def started(folder, *words):
    command = [sys.executable, "-m", "ckai.cli.main", "selfplay", *map(str, words), "--evaluator", "torch"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def until(condition, seconds=90):
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds
        time.sleep(0.02)


@pytest.mark.programs
@pytest.mark.slow
def test_a_worker_that_is_frozen_killed_and_revived(tmp_path, network):
    """It keeps nobody waiting, and what it delivers late is in the run once, or dropped."""
    run = Run.create(tmp_path / "run", network, LONG, generations=3)
    workers, seen = [started(tmp_path, "--join", run.folder) for _ in range(2)], []

    def on_event(event):
        names = event.info.get("workers", {})
        if len(names) == 2 and not seen:
            seen.append(event.generation)
            os.kill(workers[0].pid, signal.SIGSTOP)
            os.kill(workers[1].pid, signal.SIGKILL)
        if event.stage == "done" and seen and event.generation > seen[0]:
            os.kill(workers[0].pid, signal.SIGCONT)

    try:
        run.go(3, on_event)
    finally:
        os.kill(workers[0].pid, signal.SIGCONT)
    _, err = workers[0].communicate(timeout=60)
    workers[1].communicate()
    assert workers[0].returncode == 0, err
    assert seen
    check_whole(run, 3)


@pytest.mark.programs
@pytest.mark.slow
def test_the_run_is_killed_and_its_worker_plays_on(tmp_path, network):
    run = Run.create(tmp_path / "run", network, LONG)
    words = ("--run", run.folder, "--generations", 2, "--json")
    worker = started(tmp_path, "--join", run.folder, "--json")
    for _ in range(2):
        driver = started(tmp_path, *words)
        until(lambda: list(run.folder.glob("games/*.parquet")))
        driver.kill()
        driver.communicate()
    assert worker.poll() is None
    driver = started(tmp_path, *words)
    out, err = driver.communicate(timeout=180)
    assert driver.returncode == 0, err
    assert json.loads(out)["generations"] == 2
    out, err = worker.communicate(timeout=60)
    assert worker.returncode == 0, err
    assert json.loads(out)["games"] > 0
    check_whole(run, 2)


def test_join_needs_a_run_and_takes_few_options(tmp_path, ckai):
    status, _, err = ckai("selfplay", "--join", tmp_path / "none")
    assert status == 1
    assert "expected a run with a config.json, found none" in err
    for words in (("--games", 4), ("--init", "none"), ("--setting", "learn.lr=1")):
        status, _, err = ckai("selfplay", "--join", tmp_path, *words)
        assert status == 2
        assert f"--evaluator and --setting selfplay.groups only, found {words[0]} too" in err
