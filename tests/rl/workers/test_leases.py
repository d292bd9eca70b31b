"""Leases: games that are played at least once, anywhere, and are in the run exactly once."""

import io
import json
import os
import shutil
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
from ckai.rl.leases.config import WorkersConfig
from ckai.rl.leases.folder import LeaseClient, LeaseFolder
from ckai.rl.leases.lease import Lease, ShardInfo, pack_shard, unpack_shard
from ckai.rl.leases.ledger import Ledger, lease_size
from ckai.rl.leases.worker import LeaseWorker, WorkerError, _Session
from ckai.rl.leases.workers import Heartbeat
from ckai.rl.loop.config import MAX_GAMES, GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.dashboard import WORKER_COLUMNS
from ckai.rl.loop.joining import join
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.numbers import FixedNumbers
from ckai.rl.selfplay.shards import ShardError, ShardWriter, merge, read_shards
from ckai.rl.selfplay.workers import play_games

FIRST = MAX_GAMES
TINY = RunConfig(
    games=16,
    selfplay=SelfPlayConfig(sims=8, in_flight=4, groups=1, max_plies=60),
    learn=LearnConfig(epochs=1, batch_size=64),
    gate=GateConfig(games=0),
)
WHOLE = Lease("", 1, tuple(range(FIRST, FIRST + 8)), 5, "a" * 32)


@pytest.fixture
def ledger(tmp_path):
    writer = ShardWriter(tmp_path / "shards", 1, WHOLE.network)
    numbers = range(FIRST, FIRST + 8)
    return Ledger(WHOLE, numbers, writer, SelfPlayCounts(), DEFAULT_GAME.schema, groups=2)


def ignore_event(_event):
    pass


def shard_of(lease, worker="w", network=WHOLE.network):
    """The games of a lease, played."""
    games = []
    config = SelfPlayConfig(sims=2, in_flight=8, groups=1, max_plies=12, tables=0)
    play_games(UniformEvaluator(), config, lease.numbers, seed=lease.seed, on_game=games.append)
    return pack_shard(games, ShardInfo(lease.name, lease.generation, network, worker, 100))


def numbers_in(ledger):
    """The games on disk."""
    ledger.writer.flush()
    tables, games, damaged = read_shards(ledger.writer.folder)
    assert not damaged
    if tables:
        assert merge(tables)["game"].unique().to_pylist() == sorted(games)
        keys = list(zip(*(merge(tables)[c].to_pylist() for c in ("game", "ply", "hop")), strict=True))
        assert keys == sorted(set(keys)), "a row is doubled"
    return sorted(games)


def test_a_lease_as_text():
    lease = replace(WHOLE, name="x")
    assert Lease.from_json(lease.to_json()) == lease
    for wrong in ("", "[]", '{"name": "x"}', lease.to_json().replace('"seed"', '"sead"')):
        with pytest.raises(ValueError, match="expected a lease, found"):
            Lease.from_json(wrong)


def test_a_lease_of_another_version_is_put_back(tmp_path, ledger, network, monkeypatch):
    """Who joins with another version says so in one line, and others play the games."""
    config = replace(TINY, games=8)
    run = Run.create(tmp_path / "run", network, config)
    run.set_target(1)
    client = LeaseClient(run.folder)
    LeaseFolder(run.folder, 4).exchange(ledger)
    opened = sorted((run.folder / "leases/open").iterdir())
    monkeypatch.setattr("ckai.rl.leases.lease.ckai_version", lambda: "9.9.9")
    with pytest.raises(
        ValueError, match=r"^expected ckai \S* as in the run's process, found 9\.9\.9; install"
    ):
        join(run.folder, backend="torch")
    monkeypatch.undo()
    assert sorted((run.folder / "leases/open").iterdir()) == opened
    assert client.take() is not None


def test_a_worker_plays_on_in_a_run_that_took_it_for_dead(tmp_path, ledger):
    """The run that ended removed the folder; the next one opens leases in a new one."""
    client = LeaseClient(tmp_path)
    shutil.rmtree(tmp_path / "leases")
    client.send(Heartbeat())
    LeaseFolder(tmp_path, 4).exchange(ledger)
    lease = client.take()
    assert lease is not None
    client.deliver(lease, b"")
    (shard,) = (tmp_path / "leases" / "shards").iterdir()
    assert shard.name == f"{lease.name}@{client.name}.parquet"


def test_a_timeout_shorter_than_the_signs_of_life_is_refused():
    with pytest.raises(ValueError, match="expected lease_timeout >= 5"):
        WorkersConfig(lease_timeout=3)


def test_a_shard_as_bytes(ledger):
    lease = ledger.lease(3)
    shard = unpack_shard(shard_of(lease), DEFAULT_GAME.schema)
    assert shard.info == ShardInfo(lease.name, 1, WHOLE.network, "w", 100)
    assert shard.numbers == lease.numbers == tuple(range(FIRST + 5, FIRST + 8))
    assert shard.table["game"].unique().to_pylist() == list(lease.numbers)


def test_a_shard_with_a_game_twice_is_refused(tmp_path):
    games = []
    config = SelfPlayConfig(sims=2, in_flight=8, groups=1, max_plies=12, tables=0)
    play_games(UniformEvaluator(), config, (FIRST,), seed=5, on_game=games.append)
    doubled = pack_shard([*games, *games], ShardInfo("x", 1, WHOLE.network, "w", 100))
    with pytest.raises(ShardError, match=f"game {FIRST} twice"):
        unpack_shard(doubled, DEFAULT_GAME.schema)


def test_a_worker_that_gets_the_same_games_twice_plays_each_lease_whole():
    """The run took the first lease back from a silent worker, and leased its games to it once more."""
    config = SelfPlayConfig(sims=2, in_flight=8, groups=1, max_plies=12, tables=0)
    leases = [replace(WHOLE, name=name, numbers=(FIRST, FIRST + 1)) for name in ("first", "again")]
    session = _Session(leases[0], config, SelfPlayCounts())
    played = [session.add(lease) for lease in leases]
    play_games(UniformEvaluator(), config, session, seed=5, on_game=session._finish)
    for lease, each in zip(leases, played, strict=True):
        assert sorted(game.number for game in each.result()[0]) == list(lease.numbers)


def taken(numbers, group):
    return list(iter(partial(numbers.take, group), None))


def test_without_leases_games_are_played_in_the_usual_order(ledger):
    fixed = FixedNumbers(WHOLE.numbers, 2)
    for group in (0, 1):
        assert ledger.count(group) == fixed.count(group) == 4
        assert taken(ledger, group) == taken(fixed, group)
    assert not ledger.wait(threading.Event())


def test_leases_take_games_from_the_back_and_give_them_back(ledger):
    first, second = ledger.lease(3), ledger.lease(3)
    assert first.numbers == (FIRST + 5, FIRST + 6, FIRST + 7)
    assert second.numbers == (FIRST + 2, FIRST + 3, FIRST + 4)
    assert (ledger.take(0), ledger.take(0), ledger.take(1), ledger.take(1)) == (FIRST, None, FIRST + 1, None)
    assert ledger.lease(1) is None
    assert ledger.wait(threading.Event())
    assert ledger.idle
    ledger.take_back(first.name)
    ledger.take_back(first.name)
    assert ledger.counts.taken_back == 1
    assert ledger.take(0) == FIRST + 5
    assert not ledger.idle
    assert ledger.lease(9).numbers == (FIRST + 6, FIRST + 7)


def test_a_lease_given_back_and_played_twice_is_committed_once(ledger):
    first = ledger.lease(4)
    ledger.take_back(first.name)
    second = ledger.lease(4)
    assert second.numbers == first.numbers
    assert second.name != first.name
    ledger.commit(shard_of(first, "slow"))
    ledger.commit(shard_of(second, "fast"))
    ledger.commit(shard_of(second, "fast"))
    assert numbers_in(ledger) == list(first.numbers)
    assert (ledger.counts.games, ledger.counts.repeated, ledger.counts.taken_back) == (4, 8, 1)
    assert ledger.counts.by_worker == {"slow": 4, "fast": 0}
    assert ledger.missing == 4
    assert not ledger.leases


def test_a_shard_that_overlaps_is_committed_in_part(ledger):
    first = ledger.lease(4)
    games = []
    config = SelfPlayConfig(sims=2, in_flight=2, groups=1, max_plies=12, tables=0)
    play_games(UniformEvaluator(), config, first.numbers[1:3], seed=5, on_game=games.append)
    ledger.take_back(first.name)
    for game in games:  # played here in the meantime
        ledger.add(game)
    before = numbers_in(ledger)
    ledger.commit(shard_of(first))
    assert before == list(first.numbers[1:3])
    assert numbers_in(ledger) == list(first.numbers)
    for game in games:
        ledger.add(game)
    assert numbers_in(ledger) == list(first.numbers)
    assert ledger.counts.games == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda _, data: data[: len(data) // 2], "Parquet"),
        (lambda *_: b"", "Parquet"),
        (
            lambda lease, data: shard_of(lease, network="b" * 32),
            "by network a{32}, found generation 1 by b",
        ),
        (
            lambda lease, data: shard_of(replace(lease, generation=2)),
            "of generation 1 by network a{32}, found generation 2",
        ),
        (lambda lease, _: shard_of(replace(lease, numbers=(7,))), f"expected games {FIRST} to "),
    ],
)
def test_a_shard_that_is_damaged_or_stale_is_refused_and_counted(ledger, change, message):
    lease = ledger.lease(2)
    whole = shard_of(lease)
    with pytest.raises(ShardError, match=message):
        ledger.commit(change(lease, whole))
    assert ledger.counts.refused == 1
    assert ledger.missing == 8
    assert numbers_in(ledger) == []
    ledger.commit(whole)  # nothing is lost
    assert numbers_in(ledger) == list(lease.numbers)


def test_leases_become_small_towards_the_end():
    sizes, waiting = [], 100
    while waiting:
        sizes.append(min(waiting, lease_size(waiting, 2, 16)))
        waiting -= sizes[-1]
    assert sizes[0] == 8
    assert sizes[-1] <= 2
    assert sizes == sorted(sizes, reverse=True)


# --- the shared folder -----------------------------------------------------------------------------------


def test_a_lease_has_one_holder(tmp_path, ledger):
    run, client, other = LeaseFolder(tmp_path, 4), LeaseClient(tmp_path), LeaseClient(tmp_path)
    assert client.name != other.name  # of one host and one process, as in containers
    other.send(Heartbeat())
    assert not run.exchange(ledger)
    opened = sorted((tmp_path / "leases/open").glob("*.json"))
    assert len(opened) == 2
    taken = [client.take(), other.take(), client.take()]
    assert taken[2] is None
    assert {lease.name for lease in taken[:2]} == {path.stem for path in opened}
    client.deliver(taken[0], shard_of(taken[0]))
    other.leave(over=False)
    assert client.take() == taken[1]
    run.exchange(ledger)
    assert numbers_in(ledger) == list(taken[0].numbers)


def test_the_leases_of_a_silent_worker_are_taken_back(tmp_path, ledger, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("ckai.rl.leases.folder.time.monotonic", lambda: now[0])
    run, client = LeaseFolder(tmp_path, 4, silence=10), LeaseClient(tmp_path)
    run.exchange(ledger)
    lease = client.take()
    for _ in range(3):
        now[0] += 8
        client.send(Heartbeat())
        assert not run.exchange(ledger)
    assert lease.name in ledger.leases
    now[0] += 9
    assert not run.exchange(ledger)
    now[0] += 2
    warnings = run.exchange(ledger)
    assert len(warnings) == 2
    assert "no heartbeat" in warnings[1]
    assert "played again" in warnings[1]
    assert ledger.counts.taken_back == 1
    assert not ledger.leases
    assert not list((tmp_path / "leases/held").iterdir())
    # It was only slow.
    client.deliver(lease, shard_of(lease))
    run.exchange(ledger)
    assert numbers_in(ledger) == list(lease.numbers)


def test_leases_whose_folder_is_removed_are_taken_back(tmp_path, ledger):
    client, run = LeaseClient(tmp_path), LeaseFolder(tmp_path, 4)
    run.exchange(ledger)
    assert client.take() is not None
    shutil.rmtree(tmp_path / "leases")
    run.exchange(ledger)
    assert not ledger.leases
    assert ledger.waiting == len(WHOLE.numbers)


def test_a_worker_of_an_earlier_start_delivers(tmp_path, ledger):
    client = LeaseClient(tmp_path)
    LeaseFolder(tmp_path, 4).exchange(ledger)
    lease = client.take()
    for name in ledger.leases:
        ledger.withdraw(name)
    run = LeaseFolder(tmp_path, 4)
    run.begin(ledger, lambda n: None)
    assert not list((tmp_path / "leases/held").iterdir())
    client.deliver(lease, shard_of(lease))
    run.exchange(ledger)
    assert set(lease.numbers) <= set(numbers_in(ledger))


def test_a_half_written_shard_in_the_folder_is_played_again(tmp_path, ledger):
    run, client = LeaseFolder(tmp_path, 4), LeaseClient(tmp_path)
    run.exchange(ledger)
    lease = client.take()
    client.deliver(lease, shard_of(lease)[:300])
    warnings = run.exchange(ledger)
    assert "refused" in warnings[0]
    assert ledger.counts.refused == ledger.counts.taken_back == 1
    assert lease.name not in ledger.leases
    assert not list((tmp_path / "leases/shards").iterdir())
    # A temporary file is of a worker that is still writing.
    (tmp_path / "leases/shards/.x@y.parquet.1.2.tmp").write_bytes(b"PAR1")
    assert not run.exchange(ledger)


# --- workers ---------------------------------------------------------------------------------------------


def test_a_worker_refuses_a_network_that_is_not_the_leases(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    worker = LeaseWorker("w", lambda lease: run.worker_setup(lease.generation), backend="torch")
    with pytest.raises(WorkerError, match=f"expected network {'a' * 32} for generation 1, found"):
        worker.play(WHOLE)
    worker.close()


@contextmanager
def joined(folder, **options):
    """A worker in threads of this process."""
    stop = threading.Event()
    errors = []

    def work():
        try:
            join(folder, backend="torch", stop=stop, **options)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    while not list(folder.glob("leases/workers/*.json")):
        time.sleep(0.01)
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not errors


@pytest.mark.parametrize("overlap", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_run_with_a_worker_that_joins(tmp_path, network, monkeypatch, overlap):
    monkeypatch.setattr("ckai.rl.loop.joining.LOOK_SECONDS", 0.01)
    config = replace(TINY, overlap=overlap, games=24)
    run = Run.create(tmp_path / "run", network, config)
    run.set_target(2)
    events = []
    with joined(run.folder):
        run.go(2, events.append)
    shown = [event.info["workers"] for event in events if "workers" in event.info]
    (name,) = shown[-1]["alive"]
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(workers_table(shown[-1]))
    assert name in console.export_text()
    check_whole(run, 2)
    done = [measured["selfplay"]["workers"] for measured in run.history()]
    assert all(counts["games"] > 0 for counts in done)
    assert not any(counts["refused"] or counts["taken_back"] for counts in done)
    assert not (run.folder / "leases").exists()
    alone = Run.create(tmp_path / "alone", network, config)
    alone.go(2, ignore_event)
    files = [sorted(p.relative_to(r.folder) for p in r.folder.rglob("*.p*")) for r in (run, alone)]
    assert files[0] == files[1]
    heads = [(r.folder / "metrics.csv").read_text().splitlines()[0].split(",") for r in (run, alone)]
    assert [name for name in heads[0] if name not in heads[1]] == list(WORKER_COLUMNS)
    assert "played" in generation_text(run.history()[0])
    assert "worker" not in generation_text(alone.history()[0])


def test_a_run_without_workers_has_no_trace_of_them(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    run.go(1, ignore_event)
    assert "workers" not in run.history()[0]["selfplay"]
    assert not (run.folder / "leases").exists()


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
def test_a_worker_killed_in_mid_lease(tmp_path, network):
    """Its lease goes back after the silence, and the run has every game once."""
    config = replace(TINY, games=60, selfplay=replace(TINY.selfplay, sims=50))
    run = Run.create(tmp_path / "run", network, config)
    run.set_target(1)
    worker = started(tmp_path, "--join", run.folder)
    until(lambda: list(run.folder.glob("leases/workers/*.json")))
    events, killed = [], threading.Event()

    def kill():
        until(lambda: list(run.folder.glob("leases/held/*.json")))
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        killed.set()

    thread = threading.Thread(target=kill)
    thread.start()
    run.go(1, events.append, workers=LeaseFolder(run.folder, 4, silence=2.5))
    thread.join()
    worker.communicate()
    assert killed.is_set()
    check_whole(run, 1)
    assert run.history()[0]["selfplay"]["workers"]["taken_back"] >= 1
    assert any("played again" in event.info.get("warning", "") for event in events)


@pytest.mark.programs
@pytest.mark.slow
def test_the_run_is_killed_and_its_worker_plays_on(tmp_path, network):
    run = Run.create(tmp_path / "run", network, replace(TINY, games=40))
    words = ("--run", run.folder, "--generations", 2, "--json")
    worker = started(tmp_path, "--join", run.folder, "--json")
    until(lambda: list(run.folder.glob("leases/workers/*.json")))
    driver = started(tmp_path, *words)
    until(lambda: list(run.folder.glob("leases/held/*.json")))
    driver.kill()
    driver.communicate()
    assert worker.poll() is None
    driver = started(tmp_path, *words)
    out, err = driver.communicate(timeout=120)
    assert driver.returncode == 0, err
    assert json.loads(out)["generations"] == 2
    out, err = worker.communicate(timeout=60)
    assert worker.returncode == 0, err
    assert json.loads(out)["games"] > 0
    check_whole(run, 2)
    assert not (run.folder / "leases").exists()


def test_join_needs_a_run_and_takes_few_options(tmp_path, ckai):
    status, _, err = ckai("selfplay", "--join", tmp_path / "none")
    assert status == 1
    assert "expected a run with a config.json, found none" in err
    for words in (("--games", 4), ("--init", "none"), ("--setting", "learn.lr=1")):
        status, _, err = ckai("selfplay", "--join", tmp_path, *words)
        assert status == 2
        assert f"--evaluator and --setting selfplay.groups only, found {words[0]} too" in err
