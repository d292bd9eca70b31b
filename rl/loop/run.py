"""A run of self-play: generations of games, learning and gate matches, in a folder that survives a kill.

    config.json              the settings
    gen_0000/network.ckpt    the network it began with; experts.fen positions that games begin from
    gen_0001/shards/         games as they end, until all are there, and those under way
    gen_0001/rows.parquet    rows of the generation's games; games.pdn and rows.headers.parquet beside it
    gen_0001/training.ckpt   where learning is, until it is done
    gen_0001/candidate.ckpt  what it learned
    gen_0001/match.json      how the candidate did against the network that played; match.pdn the games
    gen_0001/network.ckpt    the network that plays the next generation
    gen_0001/done.json       everything measured; only now the generation is over
    best.ckpt                the network of the last generation that is over
    metrics.csv              the same numbers for people, rewritten from every done.json;
                             also as metrics.png and in tensorboard/

Every file is written under a temporary name and renamed, and each stage looks only at what the one before
left whole. So a run that was killed goes on by starting it again.

With `overlap` a generation is played while the one before is learned and meets the gate, by the network of two
generations before: where a GPU plays, the CPU would otherwise wait for it to learn, and the other way round.
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
from ckai.game import Position
from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.rng import seed_stream
from ckai.rl.loop.config import MOST_GAMES
from ckai.rl.loop.dashboard import write_dashboard
from ckai.rl.loop.events import Event, ProgressCallback
from ckai.rl.loop.folder import EVALUATOR, EXPERTS, RunError, RunFolder, fresh_folder, read_measured
from ckai.rl.loop.gate import play_gate_match
from ckai.rl.loop.learning import learn, window_of
from ckai.rl.loop.report import describe, endings, first_scores
from ckai.rl.matches.players import SearchPlayer
from ckai.rl.search.selection import PUCT
from ckai.rl.search.threads import running
from ckai.rl.selfplay.pool import Pool, draw_opponents
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.rows import headers_of_rows
from ckai.rl.selfplay.setup import search_constants
from ckai.rl.selfplay.shards import ShardWriter, merge, read_shards, write_table
from ckai.rl.selfplay.snapshots import load_snapshots
from ckai.rl.selfplay.starts import Starts
from ckai.rl.selfplay.workers import play_games


class Run(RunFolder):
    """A run that can go on."""

    # --- going on -----------------------------------------------------------------------------------

    def go(self, generations: int, watch: ProgressCallback, *, backend: str = "torch") -> None:
        """Go on until `generations` are over in all.

        Args:
            generations: of the whole run; those already over are not repeated.
            watch: is told of every step.
            backend: see `load_evaluator`; what `fastest` chose is kept in the run's folder, and used again.

        Raises:
            RunError: the run cannot go on.
        """
        with self.lock():
            remove_temporaries(self.folder)
            while self.generations < generations:
                n = self.generations + 1
                played = self._play(n, watch, backend)
                ahead = self.config.overlap and n < generations
                with self._playing(n + 1, watch, backend) if ahead else nullcontext():
                    self._finish(n, played, watch, backend)
            self._show()

    @contextmanager
    def _playing(self, n: int, watch: ProgressCallback, backend: str) -> Iterator[None]:
        """Play generation `n` beside what is done in the block."""
        stop, errors = threading.Event(), []

        def work() -> None:
            try:
                self._play(n, watch, backend, stop)
            except BaseException as error:
                errors.append(error)

        with running([threading.Thread(target=work, name=f"generation {n}")], stop):
            yield
        if errors:
            raise errors[0]

    def _finish(self, n: int, played: dict[str, Any], watch: ProgressCallback, backend: str) -> None:
        """Learn from a generation that was played, play its gate match, and write down that it is over."""
        learned = self._learn(n, watch)
        gate = self._play_gate(n, watch, backend)
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
        self._show()
        watch(Event(n, "done", 1, 1, measured))

    def _load(self, n: int, checkpoint: Path, watch: ProgressCallback, backend: str) -> Evaluator:
        """An evaluator for all groups; `fastest` tries once in a run: games do not depend on the hour."""
        config, kept = self.config.selfplay, self.folder / EVALUATOR
        prefer: str | None = None
        with suppress(OSError, ValueError, KeyError, TypeError):
            prefer = str(json.loads(kept.read_text(encoding="utf-8"))["backend"])

        def tell(report: Any) -> None:
            if report.chosen != prefer:
                rates = [trial.rate for trial in report.trials if trial.backend == report.chosen]
                told = {"backend": report.chosen, "rate": max(rates, default=0.0), "found": str(report)}
                if prefer is None:
                    # If it does not suit a later network, the one that does is for that network only.
                    write_whole(kept, json.dumps(told) + "\n")
                watch(Event(n, "selfplay", 0, self.config.games, {"evaluator": str(report)}))

        groups = config.group_count
        batch = -(-config.in_flight // groups) * config.leaves
        return load_evaluator(
            checkpoint, backend, batch=batch, threads=groups, prefer=prefer, game=self.config.game, tell=tell
        )

    def _show(self) -> None:
        """Everything that is made anew from the generations that are over."""
        _copy(self.network, self.folder / "best.ckpt")
        if self.generations:
            write_dashboard(self.folder, self.history())

    # --- playing ------------------------------------------------------------------------------------

    def _known(self, n: int) -> int:
        """The last generation that is over when generation `n` is played."""
        return max(0, n - 2 if self.config.overlap else n - 1)

    def _play(
        self, n: int, watch: ProgressCallback, backend: str, stop: threading.Event | None = None
    ) -> dict[str, Any]:
        """Play what is missing of a generation; empty if it was stopped."""
        rows_path, summary = self.path(n, "rows.parquet"), self.path(n, "selfplay.json")
        shards = self.path(n, "shards")
        if not summary.exists():
            tables, games, damaged = read_shards(shards)
            numbers = [number for number in self._numbers(n) if number not in games]
            progress = SelfPlayCounts(games=len(games), rows=sum(table.num_rows for table in tables))
            for line in damaged:
                watch(Event(n, "selfplay", len(games), self.config.games, {"warning": line}))
            pool = self._pool(n, watch, backend)
            seconds = self._play_missing(n, numbers, pool, progress, watch, backend, stop)
            if stop is not None and stop.is_set():
                return {}
            tables, games, damaged = read_shards(shards)
            if damaged or sorted(games) != list(self._numbers(n)):
                raise RunError(
                    f"{shards}: expected {self.config.games} games, found {len(games)}; start the run again"
                )
            table = merge(tables)
            write_table(headers_of_rows(table, f"{self.folder.name} generation {n}"), headers_path(rows_path))
            write_whole(self.path(n, "games.pdn"), "".join(games[number].pdn for number in sorted(games)))
            write_table(table, rows_path)
            evaluations = progress.evaluations
            told = describe(table, seconds, evaluations) | endings(
                table, [game.ending for game in games.values()], self.config.selfplay
            )
            if pool.generations:
                told["pool"] = pool.tally(first_scores(table))
            write_whole(summary, json.dumps(told) + "\n")
        shutil.rmtree(shards, ignore_errors=True)
        return read_measured(summary)

    def _numbers(self, n: int) -> range:
        return range(n * MOST_GAMES, n * MOST_GAMES + self.config.games)

    def _starts(self, n: int) -> Starts:
        experts: list[Position] = []
        path = self.path(0, EXPERTS)
        if self.config.start.expert_share:
            try:
                experts = [Position.from_fen(line) for line in path.read_text(encoding="utf-8").split()]
            except (OSError, ValueError) as error:
                raise RunError(f"{path}: expected positions of expert games, found {error}") from error
        return Starts(self.config.start, seed_stream(self.config.seed, n, 3), experts, self.spec)

    def _pool(self, n: int, watch: ProgressCallback, backend: str) -> Pool:
        """The opponents of generation `n`."""
        config, seed = self.config.pool, seed_stream(self.config.seed, n, 4)
        opponents = draw_opponents(config, self.history()[: self._known(n)], seed)
        evaluators = [self._load(n, self.path(g, "network.ckpt"), watch, backend) for g in opponents]
        return Pool(config, seed, opponents, evaluators)

    def _play_missing(
        self,
        n: int,
        numbers: list[int],
        pool: Pool,
        progress: SelfPlayCounts,
        watch: ProgressCallback,
        backend: str,
        stop: threading.Event | None,
    ) -> float:
        self.path(n).mkdir(exist_ok=True)
        player = self._load(n, self.path(self._known(n), "network.ckpt"), watch, backend)
        writer = ShardWriter(self.path(n, "shards"), n)
        unfinished, damaged = load_snapshots(
            sorted(self.path(n, "shards").glob("*.npz")), self.spec.state_words
        )
        for line in damaged:
            watch(Event(n, "selfplay", progress.games, self.config.games, {"warning": line}))
        begun, over = time.monotonic(), threading.Event()

        def tell() -> None:
            while not over.wait(0.2):
                rate = progress.evaluations / max(1e-9, time.monotonic() - begun)
                watch(
                    Event(
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

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
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
                on_snapshot=writer.snapshot,
                progress=progress,
                stop=stop,
            )
        finally:
            writer.flush()
            over.set()
            teller.join()
            for each in (player, *pool.evaluators):
                each.close()
        return time.monotonic() - begun

    # --- learning -----------------------------------------------------------------------------------

    def _learn(self, n: int, watch: ProgressCallback) -> dict[str, Any]:
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
            watch=watch,
        )

    # --- gate match ----------------------------------------------------------------------------------

    def _play_gate(self, n: int, watch: ProgressCallback, backend: str) -> dict[str, Any]:
        path, gate = self.path(n, "match.json"), self.config.gate
        if not path.exists():
            measured: dict[str, Any] = {"games": 0, "accepted": True}
            if gate.games:
                selfplay = self.config.selfplay
                sims = gate.sims or selfplay.sims
                puct = search_constants(selfplay)._replace(
                    noise_epsilon=0.0, root_rule=PUCT, root_temperature=1.0
                )
                tables = Tables.open(selfplay.tables) if selfplay.tables else None
                candidate = self._load(n, self.path(n, "candidate.ckpt"), watch, backend)
                old = self._load(n, self.path(n - 1, "network.ckpt"), watch, backend)
                try:
                    measured = play_gate_match(
                        SearchPlayer(candidate, sims, puct, tables, spec=self.spec),
                        SearchPlayer(old, sims, puct, tables, spec=self.spec),
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
                        watch=watch,
                    )
                finally:
                    candidate.close()
                    old.close()
            write_whole(path, json.dumps(measured) + "\n")
        self.path(n, "match.part.json").unlink(missing_ok=True)
        return read_measured(path)


def _copy(source: Path, target: Path) -> None:
    """Copy a file as a whole."""
    write_whole(target, source.read_bytes())


__all__ = ["Event", "Run", "RunError", "fresh_folder"]
