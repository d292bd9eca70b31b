"""The self-play of a run: a generation's games, played here and by other processes."""

import json
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ckai.datasets.files import write_whole
from ckai.datasets.schema import headers_path
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.leases.lease import Lease, hash_of
from ckai.rl.leases.ledger import Ledger
from ckai.rl.leases.worker import Orders
from ckai.rl.leases.workers import Workers
from ckai.rl.loop.config import MOST_GAMES
from ckai.rl.loop.events import EventCallback, RunEvent
from ckai.rl.loop.folder import EVALUATOR, RunError, RunFolder, read_measured
from ckai.rl.loop.report import describe, endings, first_scores
from ckai.rl.search.threads import repeated
from ckai.rl.selfplay.pool import Pool, draw_opponents, player_name, trained_in
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.rows import headers_of_rows
from ckai.rl.selfplay.shards import ShardWriter, Spent, merge, read_shards, write_table
from ckai.rl.selfplay.snapshots import GameSnapshot, load_snapshots
from ckai.rl.selfplay.starts import Starts
from ckai.rl.selfplay.warmup import compile_selfplay
from ckai.rl.selfplay.workers import play_games

EXCHANGE_SECONDS = 0.2
"""Time between two exchanges with workers, and between two reports."""


class PlayedRun(RunFolder):
    """The files of a run, and its self-play."""

    @property
    def _lag(self) -> int:
        """A generation n is played by the network of generation n - lag."""
        return 2 if self.config.overlap else 1

    def _finished_before(self, n: int) -> int:
        """Return the last generation that is finished when generation `n` is played."""
        return max(0, n - self._lag)

    def _player(self, n: int) -> int:
        """Return the generation that trained the network which plays generation `n`; 0: the first one."""
        return trained_in(self.history(), self._finished_before(n))

    def _numbers(self, n: int) -> range:
        return range(n * MOST_GAMES, n * MOST_GAMES + self.config.games)

    def _start_seed(self, n: int) -> int:
        return seed_stream(self.config.seed, n, 3)

    def _pool_seed(self, n: int) -> int:
        return seed_stream(self.config.seed, n, 4)

    def _network_of(self, n: int) -> Path:
        """Return the checkpoint of the network that plays generation `n`."""
        return self.path(self._finished_before(n), "network.ckpt")

    def _opponents(self, n: int) -> list[int]:
        """Return the past networks, by generation, that generation `n` plays against."""
        history = self.history()[: self._finished_before(n)]
        return draw_opponents(self.config.pool, history, self._pool_seed(n), self._lag)

    def orders(self, n: int) -> Orders:
        """Return what another process needs to play games of generation `n`."""
        config = self.config
        return Orders(
            game=config.game,
            selfplay=config.selfplay,
            pool=config.pool,
            start=config.start,
            network=self._network_of(n).read_bytes(),
            name=player_name(self._player(n)),
            opponents=tuple((g, self.path(g, "network.ckpt").read_bytes()) for g in self._opponents(n)),
            start_seed=self._start_seed(n),
            pool_seed=self._pool_seed(n),
            experts=tuple(self.expert_positions()),
        )

    def _ledger(self, n: int, numbers: list[int], writer: ShardWriter, progress: SelfPlayCounts) -> Ledger:
        """Return the account of generation `n`, of which the games `numbers` are missing."""
        missing = Lease(
            name="",
            run=self.folder.name,
            generation=n,
            numbers=tuple(numbers),
            seed=seed_stream(self.config.seed, n),
            network=hash_of(self._network_of(n).read_bytes()),
        )
        groups, schema = self.config.selfplay.group_count, self.spec.schema
        return Ledger(missing, self._numbers(n), writer, progress, groups=groups, schema=schema)

    def _play(
        self,
        n: int,
        on_event: EventCallback,
        backend: str,
        workers: Workers,
        stop: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Play the missing games of a generation and return its statistics; empty if stopped."""
        rows_path, summary = self.path(n, "rows.parquet"), self.path(n, "selfplay.json")
        shards = self.path(n, "shards")
        if not summary.exists():
            tables, games, damaged = read_shards(shards, self.spec.schema)
            numbers = [number for number in self._numbers(n) if number not in games]
            progress = SelfPlayCounts(games=len(games), rows=sum(table.num_rows for table in tables))
            for line in damaged:
                on_event(RunEvent(n, "selfplay", len(games), self.config.games, {"warning": line}))
            stop = stop or threading.Event()
            writer = ShardWriter(shards, n, written=games)
            ledger = self._ledger(n, numbers, writer, progress)
            spent = self._play_missing(ledger, writer, progress, on_event, backend, workers, stop)
            if stop.is_set():
                return {}
            tables, games, damaged = read_shards(shards, self.spec.schema)
            if damaged or sorted(games) != list(self._numbers(n)):
                raise RunError(
                    f"{shards}: expected {self.config.games} games, found {len(games)}; run the command again"
                )
            table = merge(tables)
            source = f"{self.folder.name} generation {n}"
            tags = {number: game.tags for number, game in games.items()}
            write_table(headers_of_rows(table, source, tags), headers_path(rows_path))
            write_whole(self.path(n, "games.pdn"), "".join(games[number].pdn for number in sorted(games)))
            write_table(table, rows_path)
            ends = {number: game.ending for number, game in games.items()}
            measured = describe(table, list(ends.values()), spent.seconds, spent.evaluations) | endings(
                table, list(ends.values()), self.config.selfplay
            )
            measured["network"] = self._player(n)
            if ledger.counts.leased:
                counts = ledger.counts
                measured["workers"] = {"count": len(counts.by_worker), **asdict(counts)}
            pool = Pool(self.config.pool, self._pool_seed(n), self._opponents(n))
            if pool.generations:
                measured["pool"] = pool.tally(
                    first_scores(table, {number: end.result for number, end in ends.items()})
                )
            write_whole(summary, json.dumps(measured) + "\n")
        shutil.rmtree(shards, ignore_errors=True)
        return read_measured(summary)

    def _play_missing(
        self,
        ledger: Ledger,
        writer: ShardWriter,
        progress: SelfPlayCounts,
        on_event: EventCallback,
        backend: str,
        workers: Workers,
        stop: threading.Event,
    ) -> Spent:
        """Play games of a generation; return the effort for it, with that before an interruption."""
        n, games = ledger.generation, self.config.games

        def tell(**info: Any) -> None:
            on_event(RunEvent(n, "selfplay", games - ledger.missing, games, info))

        def spent() -> Spent:
            seconds = before.seconds + time.monotonic() - begun
            return Spent(seconds, before.evaluations + progress.evaluations)

        def exchange() -> None:
            for line in workers.exchange(ledger):
                tell(warning=line)
            rate = progress.evaluations / max(1e-9, time.monotonic() - begun)
            cached = progress.cache_hits / max(1, progress.evaluations)
            others = _workers_info(workers, ledger, time.monotonic() - begun)
            tell(evaluations_per_second=rate, cache_hits=cached, **others)
            if not players:  # without games of this process there are no snapshots to bring it
                spent().write(writer.folder)

        def on_snapshot(group: int, unfinished: list[GameSnapshot]) -> None:
            writer.snapshot(group, unfinished)
            spent().write(writer.folder)

        players = self._players(n, on_event, backend) if workers.plays_here else ()
        before, begun = Spent.read(writer.folder), time.monotonic()
        try:
            for line in workers.begin(ledger, lambda: self.orders(n)):
                tell(warning=line)
            with repeated(exchange, EXCHANGE_SECONDS, stop):
                if players:
                    self._play_here(ledger, players, progress, tell, on_snapshot, stop)
                while ledger.missing and not stop.wait(EXCHANGE_SECONDS):
                    pass
            if not ledger.missing:
                workers.end()
        finally:
            writer.flush()
            for evaluator in players:
                evaluator.close()
        return spent()

    def _players(self, n: int, on_event: EventCallback, backend: str) -> tuple[Evaluator, ...]:
        """Load the network that plays generation `n`, and the past ones it meets."""
        networks = [self._network_of(n), *(self.path(g, "network.ckpt") for g in self._opponents(n))]
        players = tuple(self._load(n, network, on_event, backend) for network in networks)
        compile_selfplay(self.spec, players[0])  # before the clock of the speeds
        return players

    def _play_here(
        self,
        ledger: Ledger,
        players: tuple[Evaluator, ...],
        progress: SelfPlayCounts,
        tell: Callable[..., None],
        on_snapshot: Callable[[int, list[GameSnapshot]], None],
        stop: threading.Event,
    ) -> None:
        """Play games in threads of this process, until there are none left or others have played them."""
        n, config = ledger.generation, self.config
        snapshots = sorted(self.path(n, "shards").glob("*.npz"))
        unfinished, damaged = load_snapshots(snapshots, self.spec.state_words)
        for line in damaged:
            tell(warning=line)
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

    def _load(self, n: int, checkpoint: Path, on_event: EventCallback, backend: str) -> Evaluator:
        """Load an evaluator for all groups; `fastest` is tried once per run, so games are reproducible."""
        config, choice = self.config.selfplay, self.folder / EVALUATOR
        prefer: str | None = None
        with suppress(OSError, ValueError, KeyError, TypeError):
            prefer = str(json.loads(choice.read_text(encoding="utf-8"))["backend"])

        def on_report(report: Any) -> None:
            if report.chosen != prefer:
                rates = [trial.rate for trial in report.trials if trial.backend == report.chosen]
                record = {"backend": report.chosen, "rate": max(rates, default=0.0), "found": str(report)}
                if prefer is None:
                    # A fallback for a later network that this backend cannot run is not kept.
                    write_whole(choice, json.dumps(record) + "\n")
                on_event(RunEvent(n, "selfplay", 0, self.config.games, {"evaluator": str(report)}))

        groups = config.group_count
        batch = -(-min(config.in_flight, self.config.games) // groups) * config.leaves
        return load_evaluator(
            checkpoint,
            backend,
            batch=batch,
            threads=groups,
            prefer=prefer,
            game=self.config.game,
            tell=on_report,
        )


def _workers_info(workers: Workers, ledger: Ledger, seconds: float) -> dict[str, Any]:
    """Return what an event of self-play says of workers; empty without any.

    Args:
        workers: the workers.
        ledger: of the generation.
        seconds: time that the generation has been played.

    Returns:
        Under `workers`: `alive`, with `games`, `games_per_minute` and `evaluations_per_second` by name;
        leases `out` and `taken_back`; shards `refused`; bytes `moved`.
    """
    if not workers.signs:
        return {}
    counts, alive = ledger.counts, {}
    for name, sign in list(workers.signs.items()):
        games = counts.by_worker.get(name, 0)
        alive[name] = {
            "games": games,
            "games_per_minute": 60 * games / max(1e-3, seconds),
            "evaluations_per_second": sign.evaluations_per_second,
        }
    about = {"taken_back": counts.taken_back, "refused": counts.refused, "moved": counts.moved}
    return {"workers": {"alive": alive, "out": len(ledger.leases), **about}}
