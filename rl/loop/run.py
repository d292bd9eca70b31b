"""A self-play run: generations of self-play, training and a gate match, in a folder that survives a kill.

    config.json              the settings; target.json has the number of generations asked for
    gen_0000/network.ckpt    the first network; experts.fen has positions to start games from
    gen_0001/shards/         finished games and snapshots of unfinished ones, until all games are finished
    gen_0001/rows.parquet    rows of the generation's games; also games.pdn and rows.headers.parquet
    gen_0001/training.ckpt   state of the training, until it is finished
    gen_0001/candidate.ckpt  the trained network
    gen_0001/match.json      result of the gate match against the old network; games in match.pdn
    gen_0001/network.ckpt    the network that plays the next generation
    gen_0001/done.json       all measurements; marks the generation as finished
    latest.ckpt              the network of the last finished generation, with which self-play continues
    best.ckpt                the network with the highest Elo in metrics.csv; without matches the latest
    metrics.csv              the measurements of every done.json as a table;
                             also as metrics.png and in tensorboard/

Every file is written under a temporary name and renamed, and each stage reads only complete files of earlier
stages. So a killed run continues where it was when it is started again.

With `overlap`, a generation is played during the training and gate match of the previous one, by the network
of two generations ago: self-play on a GPU and training on the CPU then do not wait for each other.
"""

import json
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from ckai.datasets.files import remove_temporaries, write_whole
from ckai.datasets.schema import headers_path
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.loop.config import MOST_GAMES
from ckai.rl.loop.dashboard import write_dashboard
from ckai.rl.loop.events import EventCallback, RunEvent
from ckai.rl.loop.folder import EVALUATOR, RunError, RunFolder, fresh_folder, read_measured
from ckai.rl.loop.gate import play_gate_match
from ckai.rl.loop.learning import learn, window_of
from ckai.rl.loop.report import best_generation, describe, endings, first_scores
from ckai.rl.matches.players import SearchPlayer
from ckai.rl.search.selection import PUCT
from ckai.rl.search.threads import running
from ckai.rl.selfplay.pool import Pool, draw_opponents, player_name, trained_in
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.rows import headers_of_rows
from ckai.rl.selfplay.setup import search_constants
from ckai.rl.selfplay.shards import ShardWriter, Spent, merge, read_shards, write_table
from ckai.rl.selfplay.snapshots import GameSnapshot, load_snapshots
from ckai.rl.selfplay.starts import Starts
from ckai.rl.selfplay.warmup import compile_selfplay
from ckai.rl.selfplay.workers import play_games


class Run(RunFolder):
    """A run that can be continued; made by `Run.create` or `Run.open`."""

    # --- generations --------------------------------------------------------------------------------

    def go(self, generations: int, on_event: EventCallback, *, backend: str = "torch") -> None:
        """Continue until the run has `generations` finished generations in total.

        Args:
            generations: total number, including those already finished.
            on_event: called with the progress of every stage, see `RunEvent`.
            backend: evaluator backend, see `load_evaluator`; the run keeps the choice of `fastest`.

        Raises:
            RunError: the run is locked by another process, or its files are damaged.
        """
        with self.lock():
            remove_temporaries(self.folder)
            if generations > self.generations:
                self.set_target(generations)
            while self.generations < generations:
                n = self.generations + 1
                played = self._play(n, on_event, backend)
                ahead = self.config.overlap and n < generations
                with self._playing(n + 1, on_event, backend) if ahead else nullcontext():
                    self._finish(n, played, on_event, backend)
            self._publish()

    @contextmanager
    def _playing(self, n: int, on_event: EventCallback, backend: str) -> Iterator[None]:
        """Play generation `n` in a thread during the block."""
        stop, errors = threading.Event(), []

        def work() -> None:
            try:
                self._play(n, on_event, backend, stop)
            except BaseException as error:
                errors.append(error)

        with running([threading.Thread(target=work, name=f"generation {n}")], stop):
            yield
        if errors:
            raise errors[0]

    def _finish(self, n: int, played: dict[str, Any], on_event: EventCallback, backend: str) -> None:
        """Train on a generation that was played, play its gate match, and mark it as finished."""
        learned = self._learn(n, on_event)
        gate = self._play_gate(n, on_event, backend)
        accepted = gate["accepted"]
        chosen = self.path(n, "candidate.ckpt") if accepted else self.path(n - 1, "network.ckpt")
        _copy(chosen, self.path(n, "network.ckpt"))
        measured = {
            "generation": n,
            "selfplay": played,
            "learn": learned,
            "match": gate,
            "accepted": accepted,
        }
        write_whole(self.path(n, "done.json"), json.dumps(measured, indent=2) + "\n")
        self._publish()
        on_event(RunEvent(n, "done", 1, 1, measured))

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
        batch = -(-config.in_flight // groups) * config.leaves
        return load_evaluator(
            checkpoint,
            backend,
            batch=batch,
            threads=groups,
            prefer=prefer,
            game=self.config.game,
            tell=on_report,
        )

    def _publish(self) -> None:
        """Update the files made from the finished generations: latest.ckpt, best.ckpt and the metrics."""
        history = self.history()
        _copy(self.network, self.folder / "latest.ckpt")
        _copy(self.path(best_generation(history), "network.ckpt"), self.folder / "best.ckpt")
        if history:
            write_dashboard(self.folder, history)

    # --- self-play ----------------------------------------------------------------------------------

    @property
    def _lag(self) -> int:
        """A generation n is played by the network of generation n - lag."""
        return 2 if self.config.overlap else 1

    def _finished_before(self, n: int) -> int:
        """Return the last generation that is finished when generation `n` is played."""
        return max(0, n - self._lag)

    def _play(
        self, n: int, on_event: EventCallback, backend: str, stop: threading.Event | None = None
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
            pool = self._pool(n, on_event, backend)
            spent = self._play_missing(n, numbers, pool, progress, on_event, backend, stop)
            if stop is not None and stop.is_set():
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
            if pool.generations:
                measured["pool"] = pool.tally(
                    first_scores(table, {number: end.result for number, end in ends.items()})
                )
            write_whole(summary, json.dumps(measured) + "\n")
        shutil.rmtree(shards, ignore_errors=True)
        return read_measured(summary)

    def _player(self, n: int) -> int:
        """Return the generation that trained the network which plays generation `n`; 0: the first one."""
        return trained_in(self.history(), self._finished_before(n))

    def _numbers(self, n: int) -> range:
        return range(n * MOST_GAMES, n * MOST_GAMES + self.config.games)

    def _starts(self, n: int) -> Starts:
        seed = seed_stream(self.config.seed, n, 3)
        return Starts(self.config.start, seed, self.expert_positions(), self.spec)

    def _pool(self, n: int, on_event: EventCallback, backend: str) -> Pool:
        """Load the past networks that generation `n` plays against."""
        config, seed = self.config.pool, seed_stream(self.config.seed, n, 4)
        opponents = draw_opponents(config, self.history()[: self._finished_before(n)], seed, self._lag)
        evaluators = [self._load(n, self.path(g, "network.ckpt"), on_event, backend) for g in opponents]
        return Pool(config, seed, opponents, evaluators)

    def _play_missing(
        self,
        n: int,
        numbers: list[int],
        pool: Pool,
        progress: SelfPlayCounts,
        on_event: EventCallback,
        backend: str,
        stop: threading.Event | None,
    ) -> Spent:
        """Play games of a generation; return the effort for it, with that before an interruption."""
        self.path(n).mkdir(exist_ok=True)
        player = self._load(n, self.path(self._finished_before(n), "network.ckpt"), on_event, backend)
        writer = ShardWriter(self.path(n, "shards"), n)
        before = Spent.read(writer.folder)
        unfinished, damaged = load_snapshots(
            sorted(self.path(n, "shards").glob("*.npz")), self.spec.state_words
        )
        for line in damaged:
            on_event(RunEvent(n, "selfplay", progress.games, self.config.games, {"warning": line}))
        compile_selfplay(self.spec, player)  # before the clock of the speeds
        begun, finished = time.monotonic(), threading.Event()

        def report() -> None:
            while not finished.wait(0.2):
                rate = progress.evaluations / max(1e-9, time.monotonic() - begun)
                on_event(
                    RunEvent(
                        n,
                        "selfplay",
                        progress.games,
                        self.config.games,
                        {
                            "evaluations_per_second": rate,
                            "cache_hits": progress.cache_hits / max(1, progress.evaluations),
                        },
                    )
                )

        def spent() -> Spent:
            seconds = before.seconds + time.monotonic() - begun
            return Spent(seconds, before.evaluations + progress.evaluations)

        def on_snapshot(group: int, unfinished: list[GameSnapshot]) -> None:
            writer.snapshot(group, unfinished)
            spent().write(writer.folder)

        reporter = threading.Thread(target=report, daemon=True)
        reporter.start()
        try:
            play_games(
                player,
                self.config.selfplay,
                numbers,
                seed=seed_stream(self.config.seed, n),
                spec=self.spec,
                on_game=writer.add,
                pool=pool,
                starts=self._starts(n),
                unfinished=unfinished,
                on_snapshot=on_snapshot,
                progress=progress,
                stop=stop,
                name=player_name(self._player(n)),
            )
        finally:
            writer.flush()
            finished.set()
            reporter.join()
            for evaluator in (player, *pool.evaluators):
                evaluator.close()
        return spent()

    # --- training -----------------------------------------------------------------------------------

    def _learn(self, n: int, on_event: EventCallback) -> dict[str, Any]:
        settings = self.config.learn
        window = window_of(n, settings)
        return learn(
            self.path(n - 1, "network.ckpt"),
            [self.path(g, "rows.parquet") for g in window.generations],
            window.weights,
            self.path(n, "candidate.ckpt"),
            settings,
            generation=n,
            games=len(window.generations) * self.config.games,
            seed=seed_stream(self.config.seed, n, 1) % 2**31,
            split_seed=self.config.seed,
            game=self.config.game,
            run=self.folder.name,
            on_event=on_event,
        )

    # --- gate match ----------------------------------------------------------------------------------

    def _play_gate(self, n: int, on_event: EventCallback, backend: str) -> dict[str, Any]:
        path, gate = self.path(n, "match.json"), self.config.gate
        if not path.exists():
            measured: dict[str, Any] = {"games": 0, "accepted": True}
            if gate.games:
                selfplay = self.config.selfplay
                sims = gate.sims or selfplay.sims
                constants = search_constants(selfplay)._replace(
                    noise_epsilon=0.0, root_rule=PUCT, root_temperature=1.0
                )
                tables = Tables.open(selfplay.tables) if selfplay.tables else None
                candidate = self._load(n, self.path(n, "candidate.ckpt"), on_event, backend)
                old = self._load(n, self.path(n - 1, "network.ckpt"), on_event, backend)
                try:
                    measured = play_gate_match(
                        SearchPlayer(candidate, sims, constants, tables, spec=self.spec),
                        SearchPlayer(old, sims, constants, tables, spec=self.spec),
                        gate,
                        path,
                        names=(
                            f"{self.folder.name} gen {n} candidate",
                            f"{self.folder.name} gen {n - 1} network",
                        ),
                        generation=n,
                        seed=seed_stream(self.config.seed, n, 2),
                        spec=self.spec,
                        max_plies=selfplay.max_plies,
                        on_event=on_event,
                    )
                finally:
                    candidate.close()
                    old.close()
            write_whole(path, json.dumps(measured) + "\n")
        self.path(n, "match.part.json").unlink(missing_ok=True)
        return read_measured(path)


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that the target is never half written."""
    write_whole(target, source.read_bytes())


__all__ = ["Run", "RunError", "RunEvent", "fresh_folder"]
