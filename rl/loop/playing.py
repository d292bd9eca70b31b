"""The self-play of a run: what its generations play, their games, played here and by other processes."""

import json
import shutil
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from ckai.datasets.files import temporary_path, write_whole
from ckai.datasets.schema import headers_path
from ckai.models.checkpoint import load_network
from ckai.models.inference.backends import evaluations_per_second, sample_positions
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.loop.config import MAX_GAMES
from ckai.rl.loop.events import EventCallback, RunEvent
from ckai.rl.loop.folder import RunError, RunFolder, read_measured
from ckai.rl.loop.report import describe, endings, first_scores
from ckai.rl.search.threads import repeated
from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.pool import Pool, draw_opponents, player_name, trained_in
from ckai.rl.selfplay.rows import headers_of_rows
from ckai.rl.selfplay.shards import ShardError, ShardWriter, Spent, merge, read_shards, write_table
from ckai.rl.selfplay.starts import Starts
from ckai.rl.selfplay.warmup import compile_selfplay
from ckai.rl.selfplay.workers import play_games
from ckai.rl.workers.delivery import hash_of
from ckai.rl.workers.folder import Workers
from ckai.rl.workers.games import GenerationGames, WorkerCounts
from ckai.rl.workers.worker import WorkerSetup

EXCHANGE_SECONDS = 0.2
"""Time between two looks for what workers deliver, and between two reports."""
SAVE_SECONDS = 3.0
"""Most time for which a finished game is not on disk."""


class RunSelfPlay(RunFolder):
    """The files of a run, and its self-play."""

    _evaluator = ""
    """Name of the evaluator of this process, once it has played."""

    # --- what generations play, the same in every process that sees the folder ------------------------

    @property
    def _lag(self) -> int:
        """A generation n is played by the network of generation n - lag."""
        return 2 if self.config.overlap else 1

    def _finished_before(self, n: int) -> int:
        """Return the last generation that is finished when generation `n` is played."""
        return max(0, n - self._lag)

    @property
    def playing(self) -> int | None:
        """The generation that is played now; None: none, as far as this machine sees."""
        done = self.generations
        for n in range(done + self._lag, done, -1):
            if self.path(n, "shards").is_dir() and not self.path(n, "selfplay.json").exists():
                return n
        return None

    def _player(self, n: int) -> int:
        """Return the generation that trained the network which plays generation `n`; 0: the first one."""
        return trained_in(self.history(), self._finished_before(n))

    def _numbers(self, n: int) -> range:
        return range(n * MAX_GAMES, n * MAX_GAMES + self.config.games)

    def _network_of(self, n: int) -> Path:
        """Return the checkpoint of the network that plays generation `n`."""
        return self.path(self._finished_before(n), "network.ckpt")

    def _hash_of(self, n: int) -> str:
        """Return the hash of the network that plays generation `n`."""
        return hash_of(self._network_of(n).read_bytes())

    def _opponents(self, n: int) -> list[int]:
        """Return the past networks, by generation, that generation `n` plays against."""
        history = self.history()[: self._finished_before(n)]
        return draw_opponents(self.config.pool, history, self._pool_seed(n), self._lag)

    def _start_seed(self, n: int) -> int:
        return seed_stream(self.config.seed, n, 3)

    def _pool_seed(self, n: int) -> int:
        return seed_stream(self.config.seed, n, 4)

    def worker_setup(self, n: int) -> WorkerSetup:
        """Return what another process needs to play games of generation `n`."""
        config = self.config
        return WorkerSetup(
            generation=n,
            seed=seed_stream(config.seed, n),
            numbers=range(n * MAX_GAMES + MAX_GAMES // 2, (n + 1) * MAX_GAMES),
            games=config.games,
            game=config.game,
            selfplay=config.selfplay,
            pool=config.pool,
            start=config.start,
            network=self._network_of(n).read_bytes(),
            name=player_name(self._player(n)),
            opponents=tuple((g, self.path(g, "network.ckpt").read_bytes()) for g in self._opponents(n)),
            start_seed=self._start_seed(n),
            pool_seed=self._pool_seed(n),
        )

    # --- playing --------------------------------------------------------------------------------------

    def _play(
        self,
        n: int,
        on_event: EventCallback,
        backend: str,
        workers: Workers,
        stop: threading.Event | None = None,
    ) -> dict[str, Any]:
        """Play the missing games of a generation and return its statistics; empty if stopped.

        Args:
            n: the generation.
            on_event, backend, workers: see `Run.go`.
            stop: set it to end early.
        """
        summary, shards = self.path(n, "selfplay.json"), self.path(n, "shards")
        if not summary.exists():
            stop = stop or threading.Event()
            tables, games, damaged = read_shards(shards, self.spec.schema)
            for line in damaged:
                on_event(RunEvent(n, "selfplay", len(games), self.config.games, {"warning": line}))
            progress = SelfPlayCounts(games=len(games), rows=sum(table.num_rows for table in tables))
            # A worker finishes what it has begun when a generation is over: that counts in the next one.
            before = headers_path(self.path(n - 1, "rows.parquet"))
            taken = GenerationGames(
                n,
                self._numbers(n),
                ShardWriter(shards, n, self._hash_of(n), written=games),
                progress,
                self.spec.schema,
                have=games,
                networks={each: self._hash_of(each) for each in (n - 1, n) if each},
                before=pq.read_table(before, columns=["game"])["game"].to_pylist() if n > 1 else (),
                groups=self.config.selfplay.group_count,
            )
            spent = self._play_missing(taken, progress, on_event, backend, workers, stop)
            if stop.is_set():
                return {}
            self._close(n, spent, taken.counts)
        if shards.is_dir():
            left = temporary_path(shards)
            shards.rename(left)
            shutil.rmtree(left, ignore_errors=True)
        return read_measured(summary)

    def _play_missing(
        self,
        taken: GenerationGames,
        progress: SelfPlayCounts,
        on_event: EventCallback,
        backend: str,
        workers: Workers,
        stop: threading.Event,
    ) -> Spent:
        """Play games of a generation; return the effort for it, with that before an interruption.

        Args:
            taken: its games.
            progress: counts of the games.
            on_event, backend, workers, stop: see `_play`.
        """
        n, config, folder, games = taken.generation, self.config, taken.writer.folder, self.config.games
        saved = 0.0

        def publish(**info: Any) -> None:
            on_event(RunEvent(n, "selfplay", min(taken.have, games), games, info))

        def spent() -> Spent:
            seconds = before.seconds + time.monotonic() - begun
            return Spent(seconds, before.evaluations + progress.evaluations)

        def save() -> None:
            nonlocal saved
            taken.writer.flush()
            spent().write(folder)
            saved = time.monotonic()

        def exchange() -> None:
            for name, data in workers.deliveries():
                try:
                    taken.deliver(data)
                except ShardError as error:
                    workers.warnings.append(f"{name}: refused: {error}")
            while workers.warnings:
                publish(warning=workers.warnings.pop(0))
            if time.monotonic() - saved > SAVE_SECONDS:
                save()
            seconds = max(1e-3, time.monotonic() - begun)
            publish(
                evaluations_per_second=progress.evaluations / seconds,
                **_workers_info(taken.counts, seconds),
            )

        players = self._players(n, on_event, backend) if workers.plays_here else ()
        before, begun = Spent.read(folder), time.monotonic()
        try:
            workers.begin(n, self.worker_setup)
            with repeated(exchange, EXCHANGE_SECONDS, stop):
                if players:
                    play_games(
                        players[0],
                        config.selfplay,
                        taken,
                        seed=seed_stream(config.seed, n),
                        spec=self.spec,
                        on_game=taken.add,
                        pool=Pool(config.pool, self._pool_seed(n), self._opponents(n), players[1:]),
                        starts=Starts(config.start, self._start_seed(n), self.spec),
                        progress=progress,
                        stop=stop,
                        name=player_name(self._player(n)),
                    )
                while not taken.enough and not stop.is_set():
                    stop.wait(EXCHANGE_SECONDS)
            if not stop.is_set():
                exchange()  # however short it was
                workers.end()
        finally:
            save()
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

    def _load(self, checkpoint: Path, backend: str) -> Evaluator:
        """Load an evaluator for all groups."""
        return load_evaluator(
            checkpoint, backend, threads=self.config.selfplay.group_count, game=self.config.game
        )

    def _close(self, n: int, spent: Spent, counts: WorkerCounts) -> None:
        """Write the rows, the games and the measurements of generation `n`, whose games are in its shards.

        Args:
            n: the generation.
            spent: effort for them.
            counts: what other processes have done.

        Raises:
            RunError: a shard was damaged, or games are missing.
        """
        config, shards, rows_path = self.config, self.path(n, "shards"), self.path(n, "rows.parquet")
        tables, games, damaged = read_shards(shards, self.spec.schema)
        if damaged:
            raise RunError(f"{damaged[0]}; run the command again")
        if len(games) < config.games:
            raise RunError(
                f"{shards}: expected {config.games} games, found {len(games)}; run the command again"
            )
        table = merge(tables)
        source = f"{self.folder.name} generation {n}"
        tags = {number: game.tags for number, game in games.items()}
        networks = {number: game.network for number, game in games.items()}
        write_table(headers_of_rows(table, source, tags, networks), headers_path(rows_path))
        write_whole(self.path(n, "games.pdn"), "".join(games[number].pdn for number in sorted(games)))
        write_table(table, rows_path)
        ends = [game.ending for game in games.values()]
        measured = describe(table, ends, spent.seconds, spent.evaluations)
        measured |= endings(ends, config.selfplay)
        measured["network"] = self._player(n)
        if counts.by_worker or counts.refused:
            measured["workers"] = {"count": len(counts.by_worker), **asdict(counts)}
        pool = Pool(config.pool, self._pool_seed(n), self._opponents(n))
        if pool.generations:
            results = {number: game.ending.result for number, game in games.items()}
            scores = first_scores(table, results)
            measured["pool"] = pool.tally({g: s for g, s in scores.items() if g >= n * MAX_GAMES})
        write_whole(self.path(n, "selfplay.json"), json.dumps(measured) + "\n")


def _workers_info(counts: WorkerCounts, seconds: float) -> dict[str, Any]:
    """Return what an event of self-play says of workers; empty without any.

    Args:
        counts: theirs.
        seconds: time for which they were counted.

    Returns:
        Under `workers`: `by_name` with `games`, `games_per_minute` and `evaluations_per_second`, deliveries
        `refused`, and bytes `moved`.
    """
    if not counts.by_worker:
        return {}
    by_name = {
        name: {
            "games": games,
            "games_per_minute": 60 * games / seconds,
            "evaluations_per_second": counts.evaluations[name] / seconds,
        }
        for name, games in list(counts.by_worker.items())
    }
    return {"workers": {"by_name": by_name, "refused": counts.refused, "moved": counts.moved}}
