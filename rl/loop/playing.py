"""The self-play of a run: a generation's games, played here and by other processes."""

import shutil
import threading
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ckai.models.checkpoint import load_network
from ckai.models.inference.backends import evaluations_per_second, sample_positions
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.leases.ledger import LeaseCounts, Ledger
from ckai.rl.leases.ledgers import Ledgers
from ckai.rl.leases.workers import Workers, workers_info
from ckai.rl.loop.closing import RunClosing
from ckai.rl.loop.config import RunConfig
from ckai.rl.loop.events import EventCallback, RunEvent
from ckai.rl.loop.folder import read_measured
from ckai.rl.loop.late import generation_of, late_games, warning_of
from ckai.rl.search.threads import repeated
from ckai.rl.selfplay.pool import Pool, player_name
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.shards import ShardWriter, Spent, read_shards
from ckai.rl.selfplay.snapshots import GameSnapshot, load_snapshots
from ckai.rl.selfplay.starts import Starts
from ckai.rl.selfplay.warmup import compile_selfplay
from ckai.rl.selfplay.workers import play_games

EXCHANGE_SECONDS = 0.2
"""Time between two exchanges with workers, and between two reports."""


class RunSelfPlay(RunClosing):
    """The files of a run, and its self-play."""

    def __init__(self, folder: Path, config: RunConfig) -> None:
        """See `RunFolder`."""
        super().__init__(folder, config)
        self._counts: dict[int, LeaseCounts] = {}
        """What other processes have done for the generations that are not closed."""
        self._evaluator = ""
        """Name of the evaluator of this process, once it has played."""

    def _ledgers(self, n: int, late: list[int], there: Collection[int], progress: SelfPlayCounts) -> Ledgers:
        """Return the ledgers of the games that generation `n` misses.

        Args:
            n: the generation.
            late: numbers of the late games of earlier generations.
            there: numbers of the games that it has in its shards.
            progress: see `Ledger`.
        """
        counts = self._counts.setdefault(n, LeaseCounts())

        def ledger(g: int, numbers: Sequence[int]) -> Ledger:
            missing = self._games(g, [number for number in numbers if number not in there])
            every = self._numbers(g)
            writer = ShardWriter(
                self.path(n, "shards"),
                g,
                written=set(every).difference(missing.numbers),
                network=missing.network,
            )
            groups = self.config.selfplay.group_count
            return Ledger(missing, every, writer, progress, groups=groups, counts=counts)

        earlier = {g: [number for number in late if generation_of(number) == g] for g in range(1, n)}
        carried = [ledger(g, numbers) for g, numbers in earlier.items() if numbers]
        return Ledgers(ledger(n, self._numbers(n)), carried, self.spec.schema)

    def _play(
        self,
        n: int,
        on_event: EventCallback,
        backend: str,
        workers: Workers,
        *,
        late: Callable[[], int],
        stop: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Play the missing games of a generation and return its statistics; empty if stopped.

        Args:
            n: the generation.
            on_event, backend, workers: see `Run.go`.
            late: returns how many games, all of them leased, need not be waited for; called repeatedly.
            stop: set it to end early.
        """
        summary, shards = self.path(n, "selfplay.json"), self.path(n, "shards")
        if not summary.exists():
            tables, games, damaged = read_shards(shards, self.spec.schema)
            earlier = late_games(self, n)
            expected = {*self._numbers(n), *earlier}
            progress = SelfPlayCounts(games=len(games), rows=sum(table.num_rows for table in tables))

            def warn(line: str) -> None:
                on_event(RunEvent(n, "selfplay", len(games), len(expected), {"warning": line}))

            for line in damaged:
                warn(line)
            stop = stop or threading.Event()
            ledgers = self._ledgers(n, earlier, games.keys(), progress)
            spent = self._play_missing(
                ledgers, len(expected), late, progress, on_event, backend, workers, stop
            )
            if stop.is_set():
                return {}
            absent = self._close(n, expected, late(), spent, self._counts.pop(n))
            if absent.stale:
                warn(warning_of(absent, self.config.max_age))
        shutil.rmtree(shards, ignore_errors=True)
        return read_measured(summary)

    def _play_missing(
        self,
        ledgers: Ledgers,
        games: int,
        late: Callable[[], int],
        progress: SelfPlayCounts,
        on_event: EventCallback,
        backend: str,
        workers: Workers,
        stop: threading.Event,
    ) -> Spent:
        """Play games of a generation; return the effort for it, with that before an interruption.

        Args:
            ledgers: the missing games.
            games: games that the generation has at the end, if none is late.
            progress: counts of the games.
            late, on_event, backend, workers, stop: see `_play`.
        """
        n, folder = ledgers.generation, ledgers.own.writer.folder

        def publish(**info: Any) -> None:
            on_event(RunEvent(n, "selfplay", games - ledgers.missing, games, info))

        def spent() -> Spent:
            seconds = before.seconds + time.monotonic() - begun
            return Spent(seconds, before.evaluations + progress.evaluations)

        def report() -> None:
            rate = progress.evaluations / max(1e-9, time.monotonic() - begun)
            others = workers_info(workers, ledgers, time.monotonic() - begun)
            publish(evaluations_per_second=rate, **others)

        def exchange() -> None:
            for line in workers.exchange(ledgers):
                publish(warning=line)
            # After the exchange, which withdraws what nobody has begun where this process could play it.
            ledgers.close(late())
            report()
            if not players:  # this process plays no games, so no snapshot writes it
                spent().write(folder)

        players = self._players(n, on_event, backend) if workers.plays_here else ()
        before, begun = Spent.read(folder), time.monotonic()
        try:
            for line in workers.begin(ledgers, self.worker_setup):
                publish(warning=line)
            with repeated(exchange, EXCHANGE_SECONDS, stop):
                if players:
                    self._play_here(ledgers.own, players, progress, publish, spent, stop)
                while ledgers.missing and not ledgers.closed and not stop.is_set():
                    returned = [each for each in (ledgers.own, *ledgers.carried) if each.waiting]
                    if players and returned:  # by whoever had leased them
                        self._play_returned(returned[0], backend, progress, publish, spent, on_event, stop)
                    else:
                        stop.wait(EXCHANGE_SECONDS)
            if not stop.is_set():
                report()  # however short it was
                workers.end(ledgers)
        finally:
            for ledger in (ledgers.own, *ledgers.carried):
                ledger.writer.flush()
            spent().write(folder)  # also if it ended before the first snapshot
            for evaluator in players:
                evaluator.close()
        return spent()

    def _players(self, n: int, on_event: EventCallback, backend: str) -> tuple[Evaluator, ...]:
        """Load the network that plays generation `n`, and the past ones it meets."""
        networks = [self._network_of(n), *(self.path(g, "network.ckpt") for g in self._opponents(n))]
        groups = self.config.selfplay.group_count
        players = tuple(self._load(network, backend) for network in networks)
        if not self._evaluator:
            self._evaluator = players[0].name
            batch = -(-min(self.config.selfplay.in_flight, self.config.games) // groups)
            encoding = load_network(networks[0], self.config.game).encode
            rows = np.resize(sample_positions(64, encoding), (batch, encoding.position_bytes))
            rate = evaluations_per_second(players[0], rows, groups)
            info = {"evaluator": players[0].name, "ceiling": rate}
            on_event(RunEvent(n, "selfplay", 0, self.config.games, info))
        # Before the clock of the speeds.
        compile_selfplay(self.spec, players[0])
        return players

    def _play_returned(
        self,
        ledger: Ledger,
        backend: str,
        progress: SelfPlayCounts,
        publish: Callable[..., None],
        spent: Callable[[], Spent],
        on_event: EventCallback,
        stop: threading.Event,
    ) -> None:
        """Play games that nobody else plays any more, with the network of their generation."""
        players = self._players(ledger.generation, on_event, backend)
        try:
            self._play_here(ledger, players, progress, publish, spent, stop)
        finally:
            for evaluator in players:
                evaluator.close()

    def _play_here(
        self,
        ledger: Ledger,
        players: tuple[Evaluator, ...],
        progress: SelfPlayCounts,
        publish: Callable[..., None],
        spent: Callable[[], Spent],
        stop: threading.Event,
    ) -> None:
        """Play games in threads of this process, until there are none left or others have played them."""
        n, config, writer = ledger.generation, self.config, ledger.writer
        unfinished, damaged = load_snapshots(sorted(writer.folder.glob("*.npz")), self.spec.state_words)
        for line in damaged:
            publish(warning=line)
        ledger.play_first(unfinished)  # else the next snapshot could be without them

        def on_snapshot(group: int, games: list[GameSnapshot]) -> None:
            writer.snapshot(group, games)
            spent().write(writer.folder)

        play_games(
            players[0],
            config.selfplay,
            ledger,
            seed=seed_stream(config.seed, n),
            spec=self.spec,
            on_game=ledger.add,
            pool=Pool(config.pool, self._pool_seed(n), self._opponents(n), players[1:]),
            starts=Starts(config.start, self._start_seed(n), self.expert_positions(), self.spec),
            unfinished=unfinished,
            on_snapshot=on_snapshot,
            progress=progress,
            stop=stop,
            name=player_name(self._player(n)),
        )

    def _load(self, checkpoint: Path, backend: str) -> Evaluator:
        """Load an evaluator for all groups."""
        return load_evaluator(
            checkpoint, backend, threads=self.config.selfplay.group_count, game=self.config.game
        )
