"""Workers: games that are played anywhere, and are in the run once."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest
from rich.console import Console
from whole_run import check_whole

from ckai.cli.shared.run_tables import generation_text, workers_table
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.loop.config import MAX_GAMES, GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.dashboard import WORKER_COLUMNS
from ckai.rl.loop.joining import join
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.numbers import FixedNumbers
from ckai.rl.selfplay.shards import ShardError, ShardWriter, merge, read_shards
from ckai.rl.selfplay.workers import play_games
from ckai.rl.workers.delivery import Delivery, ckai_version, pack
from ckai.rl.workers.folder import Deliveries, JoinedWorkers
from ckai.rl.workers.games import GenerationGames
from ckai.rl.workers.worker import WorkerError

FIRST, SECOND = MAX_GAMES, MAX_GAMES + MAX_GAMES // 2
"""The first numbers of generation 1: those of the run's process, and those of workers."""
TINY = RunConfig(
    games=16,
    selfplay=SelfPlayConfig(sims=8, in_flight=4, groups=1, max_plies=60),
    learn=LearnConfig(epochs=1, batch_size=64),
    gate=GateConfig(games=0),
)
LONG = replace(TINY, games=60, selfplay=replace(TINY.selfplay, sims=50))
NETWORK = "a" * 32


@pytest.fixture
def games(tmp_path):
    """Generation 1 of 8 games in two groups, none played."""
    return generation(tmp_path)


def generation(folder, n=1, have=(), before=()):
    return GenerationGames(
        n,
        range(n * FIRST, n * FIRST + 8),
        ShardWriter(folder / f"shards {n}", n, NETWORK, written=have),
        SelfPlayCounts(),
        DEFAULT_GAME.schema,
        have=have,
        networks={each: NETWORK for each in (n - 1, n) if each},
        before=before,
        groups=2,
    )


def ignore_event(_event):
    pass


def played(numbers):
    found = []
    config = SelfPlayConfig(sims=2, in_flight=8, groups=1, max_plies=12, tables=0)
    play_games(UniformEvaluator(), config, tuple(numbers), seed=5, on_game=found.append)
    return found


def delivered(numbers, worker="w", generation=1, network=NETWORK, version=None):
    """Games of a worker, as it delivers them."""
    said = Delivery(worker, version or ckai_version(), generation, network, 100, "uniform")
    return pack(played(numbers), said)


def on_disk(games):
    games.writer.flush()
    tables, found, damaged = read_shards(games.writer.folder)
    assert not damaged
    if tables:
        keys = list(zip(*(merge(tables)[c].to_pylist() for c in ("game", "ply", "hop")), strict=True))
        assert keys == sorted(set(keys)), "a row is doubled"
        assert sorted({key[0] for key in keys}) == sorted(found)
    return sorted(found)


def taken(numbers, group):
    return list(iter(partial(numbers.take, group), None))


def test_without_workers_games_are_played_in_the_usual_order(games):
    fixed = FixedNumbers(range(FIRST, FIRST + 8), 2)
    for group in (0, 1):
        assert games.count(group) == fixed.count(group) == 4
        assert taken(games, group) == taken(fixed, group)


def test_every_game_begun_here_counts_and_no_more_are_begun_than_needed(games):
    begun = [games.take(0), games.take(1), games.take(0)]
    games.deliver(delivered(range(SECOND, SECOND + 4)))
    begun.append(games.take(1))
    assert games.take(0) is games.take(1) is None  # 4 here and 4 there
    games.deliver(delivered(range(SECOND + 4, SECOND + 6)))
    for game in played(begun):
        assert games.have < 10
        games.add(game)
    assert games.enough
    assert on_disk(games) == sorted(begun) + list(range(SECOND, SECOND + 6))


def test_a_game_delivered_twice_counts_once(games):
    games.deliver(delivered(range(SECOND, SECOND + 3), "one"))
    games.deliver(delivered(range(SECOND + 2, SECOND + 5), "two"))
    games.deliver(delivered(range(SECOND, SECOND + 3), "one"))
    assert on_disk(games) == list(range(SECOND, SECOND + 5))
    assert (games.counts.games, games.counts.repeated, games.have) == (5, 4, 5)
    assert games.counts.by_worker == {"one": 3, "two": 2}


def test_a_game_that_ends_after_its_generation_counts_in_the_next_one_and_once(tmp_path):
    """Workers finish what they have begun; and a kill may leave a delivery that was kept already."""
    there = (SECOND, SECOND + 1)
    later = generation(tmp_path, 2, before=there)
    later.deliver(delivered(range(SECOND, SECOND + 3)))
    assert on_disk(later) == [SECOND + 2]
    assert later.have == later.counts.games == 1
    with pytest.raises(ShardError, match=r"of generation 3 by network .*, found generation 1"):
        generation(tmp_path, 3).deliver(delivered(there))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[: len(data) // 2], "Parquet"),
        (lambda data: b"", "Parquet"),
        (lambda data: delivered((SECOND,), network="b" * 32), "by network a{32}, found generation 1 by b"),
        (lambda data: delivered((SECOND,), generation=2), "of generation 1 by network a{32}, found genera"),
        (lambda data: delivered((SECOND,), version="9.9.9"), r"^expected ckai \S*, found 9\.9\.9$"),
        (lambda data: pack([*played((SECOND,))] * 2, Delivery("w", "", 1, NETWORK, 1, "")), "twice"),
    ],
)
def test_what_is_damaged_or_of_others_is_refused_and_counted(games, change, message):
    whole = delivered((SECOND,))
    with pytest.raises(ShardError, match=message):
        games.deliver(change(whole))
    assert (games.counts.refused, games.have, on_disk(games)) == (1, 0, [])
    games.deliver(whole)  # nothing is lost
    assert on_disk(games) == [SECOND]


# --- the shared folder -----------------------------------------------------------------------------------


def test_what_is_delivered_is_kept_until_the_run_has_it(tmp_path):
    run, worker, other = JoinedWorkers(tmp_path), Deliveries(tmp_path), Deliveries(tmp_path)
    assert worker.name != other.name  # of one host and one process, as in containers
    worker.leave(b"before the run")
    run.begin(1, lambda n: None)
    worker.leave(b"1")
    other.leave(b"2")
    (run.folder / ".x.parquet.1.2.tmp").write_bytes(b"half")
    found = run.deliveries()
    assert next(found)[1] in (b"1", b"2")
    found.close()  # killed while it writes
    assert sorted(data for _, data in run.deliveries()) == [b"1", b"2"]
    assert not list(run.deliveries())


def test_a_worker_of_another_version_says_so(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY, generations=1)
    JoinedWorkers(run.folder).begin(1, lambda n: None)
    (run.folder / "joined" / "version").write_text("9.9.9")
    with pytest.raises(
        WorkerError, match=r"^expected ckai 9\.9\.9 as in the run's process, found \S+; install the same"
    ):
        join(run.folder, backend="torch")


@contextmanager
def joined(folder):
    """A worker in threads of this process."""
    stop, errors = threading.Event(), []

    def work():
        try:
            join(folder, backend="torch", stop=stop)
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
    monkeypatch.setattr("ckai.rl.workers.worker.TICK_SECONDS", 0.05)
    config = replace(LONG, overlap=overlap)
    run = Run.create(tmp_path / "run", network, config, generations=2)
    events = []
    with joined(run.folder):
        run.go(2, events.append)
    shown = [event.info["workers"] for event in events if "workers" in event.info]
    (name,) = shown[-1]["by_name"]
    console = Console(width=100, record=True)
    console.print(workers_table(shown[-1]))
    assert name in console.export_text()
    check_whole(run, 2)
    counts = [measured["selfplay"]["workers"] for measured in run.history()]
    assert all(each["games"] > 0 and not each["refused"] for each in counts)
    assert not (run.folder / "joined").exists()
    alone = Run.create(tmp_path / "alone", network, config)
    alone.go(2, ignore_event)
    assert not (alone.folder / "joined").exists()
    assert "workers" not in alone.history()[0]["selfplay"]
    files = [sorted(p.relative_to(r.folder) for p in r.folder.rglob("*.p*")) for r in (run, alone)]
    assert files[0] == files[1]
    heads = [(r.folder / "metrics.csv").read_text().splitlines()[0].split(",") for r in (run, alone)]
    assert [name for name in heads[0] if name not in heads[1]] == list(WORKER_COLUMNS)
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
    run = Run.create(tmp_path / "run", network, replace(LONG, games=120), generations=3)
    workers, seen = [started(tmp_path, "--join", run.folder) for _ in range(2)], []

    def on_event(event):
        names = event.info.get("workers", {}).get("by_name", {}) if event.stage == "selfplay" else {}
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
    run = Run.create(tmp_path / "run", network, replace(LONG, games=120))
    words = ("--run", run.folder, "--generations", 2, "--json")
    worker = started(tmp_path, "--join", run.folder, "--json")
    for _ in range(2):
        driver = started(tmp_path, *words)
        until(lambda: list(run.folder.glob("joined/*.parquet")) or list(run.folder.glob("gen_*/shards/*.p*")))
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
    assert not (run.folder / "joined").exists()


def test_join_needs_a_run_and_takes_few_options(tmp_path, ckai):
    status, _, err = ckai("selfplay", "--join", tmp_path / "none")
    assert status == 1
    assert "expected a run with a config.json, found none" in err
    for words in (("--games", 4), ("--init", "none"), ("--setting", "learn.lr=1")):
        status, _, err = ckai("selfplay", "--join", tmp_path, *words)
        assert status == 2
        assert f"--evaluator and --setting selfplay.groups only, found {words[0]} too" in err
