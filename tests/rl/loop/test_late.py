"""Late games: a generation is closed without them, a later one takes them in, and each is in the run once."""

import csv
import io
import json
import threading
import time
from collections import Counter
from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from whole_run import check_whole

from ckai.cli.shared.run_tables import generation_text, workers_table
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.leases.folder import LeaseClient, LeaseFolder
from ckai.rl.leases.lease import Lease, ShardInfo, hash_of, pack_shard
from ckai.rl.leases.ledger import LeaseCounts, Ledger
from ckai.rl.leases.ledgers import Ledgers
from ckai.rl.leases.workers import Heartbeat
from ckai.rl.loop import closing, learning
from ckai.rl.loop.config import MAX_GAMES, GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.late import generation_of, late_games, sort_absent
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.shards import ShardError, ShardWriter, read_shards
from ckai.rl.selfplay.workers import play_games

FIRST, SECOND = MAX_GAMES, 2 * MAX_GAMES
TINY = RunConfig(
    games=16,
    late=0.25,
    max_age=2,
    selfplay=SelfPlayConfig(sims=4, in_flight=4, groups=1, max_plies=20, tables=0),
    learn=LearnConfig(epochs=1, batch_size=64),
    gate=GateConfig(games=0),
)


def ignore_event(_event):
    pass


def shard_of(lease, worker="w"):
    """The games of a lease, played by an evaluator that knows nothing in the name of the network."""
    games = []
    config = SelfPlayConfig(sims=2, in_flight=8, groups=1, max_plies=12, tables=0)
    play_games(UniformEvaluator(), config, lease.numbers, seed=lease.seed, on_game=games.append)
    return pack_shard(games, ShardInfo(lease.name, lease.generation, lease.network, worker, 1.5, 100))


class SlowWorkers:
    """Workers that hand in a shard when `ready(lease, generation)` is true, asked in each exchange."""

    plays_here, matches = False, None

    def __init__(self, ready=lambda lease, generation: True):
        self.ready, self.heartbeats, self.out = ready, {"w": Heartbeat(1)}, []
        self.leased, self.refused, self.ordered = [], [], {}

    def begin(self, ledgers, setup_of):
        self.ordered[ledgers.generation] = hash_of(setup_of(ledgers.generation).network)
        for lease in self.out:
            ledgers.adopt(lease)
        self.setup_of = setup_of
        return []

    def exchange(self, ledgers):
        for lease in [lease for lease in self.out if self.ready(lease, ledgers.generation)]:
            self.out.remove(lease)
            try:
                ledgers.commit(shard_of(lease))
            except ShardError as error:
                self.refused.append((lease, str(error)))
        while (lease := ledgers.lease(2)) is not None:
            assert lease.network == hash_of(self.setup_of(lease.generation).network)
            self.out.append(lease)
            self.leased.append(lease)
        return []

    def end(self, ledgers):
        pass

    def close(self):
        pass


def held_back(number, until):
    """Hold back the lease with a game until a generation; a shard is never ready when it was just leased."""

    def ready(lease, generation):
        return number not in lease.numbers or generation >= until

    return ready


# --- the ledgers -----------------------------------------------------------------------------------------


def ledgers_of(tmp_path, late=(FIRST + 3, FIRST + 6), games=4):
    """The ledgers of generation 2, with late games of generation 1."""
    counts, progress = LeaseCounts(), SelfPlayCounts()

    def ledger(n, first, numbers, network):
        every = range(first, first + 8)
        writer = ShardWriter(tmp_path / "shards", n, written=set(every) - set(numbers), network=network)
        missing = Lease("", "run", n, tuple(numbers), n, network)
        return Ledger(missing, every, writer, progress, groups=1, counts=counts)

    own = ledger(2, SECOND, range(SECOND, SECOND + games), "b" * 32)
    return Ledgers(own, [ledger(1, FIRST, late, "a" * 32)], DEFAULT_GAME.schema)


def test_late_games_are_leased_first_with_the_network_of_their_generation(tmp_path):
    ledgers = ledgers_of(tmp_path)
    assert (ledgers.generation, ledgers.generations, ledgers.missing) == (2, (1, 2), 6)
    first, second = ledgers.lease(8), ledgers.lease(8)
    assert (first.generation, first.network, first.numbers) == (1, "a" * 32, (FIRST + 3, FIRST + 6))
    assert (second.generation, second.network) == (2, "b" * 32)
    assert ledgers.lease(8) is None
    assert set(ledgers.leases) == {first.name, second.name}
    ledgers.commit(shard_of(second))
    ledgers.commit(shard_of(first))
    _, games, _ = read_shards(tmp_path / "shards")
    networks = {number: game.network for number, game in games.items()}
    assert networks == dict.fromkeys(first.numbers, "a" * 32) | dict.fromkeys(second.numbers, "b" * 32)
    assert ledgers.missing == 0
    assert ledgers.counts.games == 6


def test_a_shard_of_games_that_are_not_late_is_dropped_or_refused(tmp_path):
    ledgers = ledgers_of(tmp_path)
    lease = replace(ledgers.lease(1), numbers=(FIRST + 5, FIRST + 6))
    ledgers.commit(shard_of(lease))  # game 5 is in the rows of generation 1
    _, games, _ = read_shards(tmp_path / "shards")
    assert sorted(games) == [FIRST + 6]
    assert (ledgers.counts.games, ledgers.counts.repeated) == (1, 1)
    for wrong, message in (
        (replace(lease, generation=3, numbers=(3 * MAX_GAMES,)), "of generation 1 or 2, found 3"),
        (replace(lease, network="c" * 32), f"of network {'a' * 32}, found {'c' * 32}"),
        (replace(lease, numbers=(SECOND,)), f"games {FIRST} to {FIRST + 7}, found {SECOND}"),
    ):
        with pytest.raises(ShardError, match=message):
            ledgers.commit(shard_of(wrong))
    assert ledgers.counts.refused == 3
    assert ledgers.missing == 5


def test_the_account_closes_once_all_that_is_missing_is_leased_and_few(tmp_path):
    ledgers = ledgers_of(tmp_path)
    assert not ledgers.close(6)
    leases = [ledgers.lease(2) for _ in range(3)]
    assert not ledgers.close(5)
    ledgers.take_back(leases[0].name)
    assert not ledgers.close(6), "the late games wait again"
    assert ledgers.lease(8).numbers == leases[0].numbers
    assert ledgers.own.wait(threading.Event())
    assert ledgers.close(6)
    assert ledgers.close(0), "closed is closed"
    assert not ledgers.own.wait(threading.Event())
    ledgers.commit(shard_of(leases[2]))
    assert ledgers.missing == 4


def test_a_game_of_this_process_is_waited_for(tmp_path):
    ledgers = ledgers_of(tmp_path, late=())
    number = ledgers.own.take(0)
    ledgers.lease(8)
    assert number == SECOND
    assert not ledgers.close(8)


def test_a_lease_is_adopted_if_its_missing_games_wait(tmp_path):
    ledgers = ledgers_of(tmp_path)
    lease = Lease("x", "run", 1, (FIRST + 5, FIRST + 6), 1, "a" * 32)  # game 5 is there
    for wrong in (
        replace(lease, generation=3),
        replace(lease, network="c" * 32),
        replace(lease, numbers=(FIRST + 5,)),
    ):
        assert not ledgers.adopt(wrong)
    assert ledgers.adopt(lease)
    assert not ledgers.adopt(lease)
    assert ledgers.lease(8).numbers == (FIRST + 3,)


def test_games_are_late_until_they_are_too_old():
    absent = sort_absent([SECOND, FIRST + 1, FIRST], 2, max_age=1)
    assert absent.late == (SECOND,)
    assert absent.stale == (FIRST, FIRST + 1)
    assert sort_absent([FIRST], 2, max_age=2).late == (FIRST,)
    assert sort_absent([FIRST], 3, max_age=2).stale == (FIRST,)


# --- runs ------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [False, True])
def test_the_next_generation_takes_late_games_in(tmp_path, network, monkeypatch, overlap):
    run = Run.create(tmp_path / "run", network, replace(TINY, overlap=overlap))
    workers, events, counted = SlowWorkers(held_back(FIRST + 15, until=2)), [], []
    real = learning.learn

    def learn(*places, games, **more):
        counted.append(games)
        return real(*places, games=games, **more)

    monkeypatch.setattr("ckai.rl.loop.run.learn", learn)
    run.go(3, events.append, workers=workers)
    check_whole(run, 3)
    first, second, third = (measured["selfplay"] for measured in run.history())
    assert first["late"] == [FIRST + 14, FIRST + 15]
    assert (first["games"], second["games"], third["games"]) == (14, 18, 16)
    assert second["workers"]["carried"] == 2
    assert "late" not in second
    assert "workers" in third
    assert not workers.refused
    assert Counter(n for lease in workers.leased for n in lease.numbers).most_common(1)[0][1] == 1
    assert counted == [14, 32, 48]
    table = pq.read_table(run.path(2, "rows.parquet"))
    generations = dict(zip(table["game"].to_pylist(), table["generation"].to_pylist(), strict=True))
    assert all(generation_of(number) == generation for number, generation in generations.items())
    with (run.folder / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["games_late"] for row in rows] == ["2", "0", "0"]
    assert [row["games_carried"] for row in rows] == ["0", "2", "0"]
    assert [row["games_stale"] for row in rows] == ["0", "0", "0"]
    assert ", 2 games late" in generation_text(run.history()[0])
    assert ", 2 games of earlier generations" in generation_text(run.history()[1])


def test_late_games_are_in_the_table_of_workers():
    worker = {"games": 3, "games_per_minute": 1.5, "evaluations_per_second": 1000.0}
    workers = {"alive": {"w": worker}, "out": 1, "taken_back": 0, "refused": 0, "moved": 0, "late": 2}
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(workers_table(workers))
    assert "2 late games out" in console.export_text()


@pytest.mark.slow
def test_with_overlap_a_generation_is_waited_for_no_longer_than_without(tmp_path, network):
    # Generation 2 is played while generation 1 is learned.
    run = Run.create(tmp_path / "run", network, replace(TINY, overlap=True))
    run.go(3, ignore_event, workers=SlowWorkers(held_back(SECOND + 15, until=3)))
    check_whole(run, 3)
    assert run.history()[1]["selfplay"]["late"] == [SECOND + 14, SECOND + 15]


@pytest.mark.slow
def test_the_last_generation_waits_for_all_games(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)
    asked = Counter()

    def ready(lease, generation):
        if lease.generation == 1 and FIRST + 15 not in lease.numbers:
            return True
        asked[lease.name] += generation == 2
        return asked[lease.name] > 3

    run.go(2, ignore_event, workers=SlowWorkers(ready))
    check_whole(run, 2)
    assert run.history()[0]["selfplay"]["late"]


@pytest.mark.slow
def test_too_many_missing_games_are_waited_for(tmp_path, network):
    run = Run.create(
        tmp_path / "run", network, replace(TINY, late=0.1)
    )  # one game of 16, and leases have two
    asked = Counter()

    def ready(lease, generation):
        asked[lease.name] += 1
        return FIRST + 15 not in lease.numbers or asked[lease.name] > 3

    run.go(2, ignore_event, workers=SlowWorkers(ready))
    check_whole(run, 2)
    assert not any("late" in measured["selfplay"] for measured in run.history())


@pytest.mark.slow
def test_games_that_are_too_old_are_dropped_and_refused(tmp_path, network):
    run = Run.create(tmp_path / "run", network, replace(TINY, max_age=1))
    workers, events = SlowWorkers(held_back(FIRST + 15, until=3)), []
    run.go(3, events.append, workers=workers)
    check_whole(run, 3, stale=[FIRST + 14, FIRST + 15])
    ((lease, reason),) = workers.refused
    assert lease.numbers == (FIRST + 14, FIRST + 15)
    assert reason == "expected games of generation 3, found 1"
    second, third = (measured["selfplay"]["workers"] for measured in run.history()[1:])
    assert (second["stale"], second["refused"], third["stale"], third["refused"]) == (2, 0, 0, 1)
    warnings = [event.info["warning"] for event in events if "warning" in event.info]
    assert warnings == [
        "expected late games within max_age = 1 generations, found 2 still out "
        f"({FIRST + 14}, {FIRST + 15}); they are dropped"
    ]
    assert ", 2 games dropped as stale" in generation_text(run.history()[1])


@pytest.mark.slow
def test_a_late_lease_that_is_lost_is_leased_again_with_its_own_network(tmp_path, network):
    run = Run.create(tmp_path / "run", network, TINY)

    class Lost(SlowWorkers):
        """Loses the late lease at the first exchange of generation 2."""

        def exchange(self, ledgers):
            if ledgers.generation == 2 and self.lost is None:
                self.ready = lambda lease, generation: True
                (self.lost,) = self.out
                self.out = []
                ledgers.take_back(self.lost.name)
            return super().exchange(ledgers)

        lost = None

    workers = Lost(held_back(FIRST + 15, until=2))
    run.go(2, ignore_event, workers=workers)
    check_whole(run, 2)
    again = [lease for lease in workers.leased if FIRST + 15 in lease.numbers]
    assert len(again) == 2
    assert again[0].numbers == again[1].numbers
    assert again[1].network == workers.ordered[1] != workers.ordered[2]
    assert run.history()[1]["selfplay"]["workers"]["taken_back"] == 1


class Killed(BaseException):
    """Stands for kill -9: nothing that the run would do after it is done."""


@pytest.mark.slow
@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("where", ["rows", "late games there", "selfplay.json", "learn"])
def test_a_run_killed_with_late_games_out_has_every_game_once(tmp_path, network, monkeypatch, where, overlap):
    run = Run.create(tmp_path / "run", network, replace(TINY, overlap=overlap))
    workers = SlowWorkers(held_back(FIRST + 15, until=2))
    real = closing.write_table, closing.write_whole

    def write_table(table, path):
        real[0](table, path)
        if (where, path.name) == ("rows", "rows.parquet"):
            raise Killed

    def write_whole(path, content):
        real[1](path, content)
        if where == path.name:
            raise Killed

    def on_event(event):
        if where == "learn" == event.stage:
            raise Killed

    def exchange(ledgers):
        found = SlowWorkers.exchange(workers, ledgers)
        if where == "late games there" and ledgers.generation == 2 and not ledgers.carried[0].missing:
            raise Killed
        return found

    monkeypatch.setattr(closing, "write_table", write_table)
    monkeypatch.setattr(closing, "write_whole", write_whole)
    monkeypatch.setattr(workers, "exchange", exchange)
    with pytest.raises(Killed):
        run.go(2, on_event, workers=workers)
    monkeypatch.undo()
    # The leases are gone with the process, as those of actors on Ray.
    again = Run.open(run.folder)
    if where != "rows":
        assert late_games(again, 2) == [FIRST + 14, FIRST + 15]
    again.go(2, ignore_event, workers=SlowWorkers())
    check_whole(again, 2)


def test_a_joiner_hands_a_late_lease_in_while_the_next_generation_is_played(tmp_path, network):
    run = Run.create(tmp_path / "run", network, replace(TINY, late=0.5))
    run.set_target(2)
    client, held, done = LeaseClient(run.folder), [], threading.Event()

    def work():
        while not done.is_set():
            if not held:
                held.extend(lease for lease in [client.take()] if lease is not None)
            elif run.path(2, "shards").exists() and len(held) == 1:
                held.append(None)
                client.deliver(held[0], shard_of(held[0], client.name))
            client.send(Heartbeat(games=1))
            time.sleep(0.01)
        client.leave(over=True)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        run.go(2, ignore_event, workers=LeaseFolder(run.folder, 4))
    finally:
        done.set()
        thread.join()
    check_whole(run, 2)
    assert run.history()[0]["selfplay"]["late"] == list(held[0].numbers)
    counts = run.history()[1]["selfplay"]["workers"]
    assert (counts["carried"], counts["taken_back"], counts["refused"]) == (len(held[0].numbers), 0, 0)
    assert not (run.folder / "leases").exists()


@pytest.mark.slow
def test_the_late_games_of_a_joiner_that_died_are_played_by_the_run(tmp_path, network):
    run = Run.create(tmp_path / "run", network, replace(TINY, late=0.5))
    client, events, workers = LeaseClient(run.folder), [], LeaseFolder(run.folder, 4)

    def on_event(event):
        events.append(event)
        if event.generation == 2:  # no sooner, however slow this machine is
            workers.silence = 0.1

    thread = threading.Thread(target=run.go, args=(2, on_event), kwargs={"workers": workers})
    thread.start()
    while (lease := client.take()) is None:
        assert thread.is_alive()
        time.sleep(0.005)
    thread.join()
    check_whole(run, 2)
    assert run.history()[0]["selfplay"]["late"] == list(lease.numbers)
    assert run.history()[1]["selfplay"]["workers"]["carried"] == len(lease.numbers)
    assert any("played again" in event.info.get("warning", "") for event in events)


@pytest.mark.slow
def test_a_run_without_workers_knows_nothing_of_late_games(tmp_path, network):
    """Whatever the setting, its files are those of a run that waits for all games."""
    files = []
    for late in (0.0, 0.5):
        run = Run.create(tmp_path / str(late) / "run", network, replace(TINY, late=late))
        run.go(2, ignore_event)
        check_whole(run, 2)
        files.append(
            [run.path(n, name).read_bytes() for n in (1, 2) for name in ("rows.parquet", "games.pdn")]
        )
        measured = [json.loads(run.path(n, "selfplay.json").read_text()) for n in (1, 2)]
        assert all(not {"late", "stale", "workers"} & set(each) for each in measured)
    assert files[0] == files[1]


def test_settings_are_checked():
    for name, value in (("late", 1.0), ("late", -0.1), ("max_age", 0)):
        with pytest.raises(ValueError, match=name):
            replace(TINY, **{name: value})
    old = {name: value for name, value in RunConfig().to_dict().items() if name not in ("late", "max_age")}
    assert RunConfig.from_dict(old).late == 0, "a run of an earlier version waits for all games"
