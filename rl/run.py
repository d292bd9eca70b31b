"""A run of self-play: generations of games, learning and judging, in a folder that survives a kill.

    config.json             the settings
    gen_0000/network.ckpt   the network it began with; experts.fen positions that games begin from
    gen_0001/shards/        games as they end, until all are there, and those under way
    gen_0001/rows.parquet   rows of the generation's games; games.pdn and rows.headers.parquet beside it
    gen_0001/training.ckpt  where learning is, until it is done
    gen_0001/candidate.ckpt what it learned
    gen_0001/match.json     how the candidate did against the network that played; match.pdn the games
    gen_0001/network.ckpt   the network that plays the next generation
    gen_0001/done.json      everything measured; only now the generation is over
    best.ckpt               the network of the last generation that is over
    metrics.csv, metrics.png, tensorboard/   the same numbers for people, made anew from every done.json

Every file is written under a temporary name and renamed, and each stage looks only at what the one before
left whole. So a run that was killed goes on by starting it again.
"""

import json
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ckai.datasets.schema import headers_path
from ckai.game import Position
from ckai.game.files import write_whole
from ckai.game.tables import Tables
from ckai.models.checkpoint import load_checkpoint, save_checkpoint
from ckai.models.registry import Network
from ckai.rl.config import MOST_GAMES, RunConfig
from ckai.rl.evaluators import Evaluator, load_evaluator
from ckai.rl.events import Event, Watch
from ckai.rl.judging import judge
from ckai.rl.kinds import Kind, kind_of
from ckai.rl.learning import learn, window_of
from ckai.rl.players import Player
from ckai.rl.pool import Pool, draw_rivals
from ckai.rl.rng import seed_stream
from ckai.rl.rows import headers_of_rows
from ckai.rl.select import PUCT
from ckai.rl.selfplay import Progress, play_games
from ckai.rl.shards import RunError, ShardWriter, merge, read_shards, write_table
from ckai.rl.starts import Starts
from ckai.rl.summary import describe, endings, first_scores
from ckai.rl.unfinished import load_unfinished
from ckai.rl.views import write_views

EVALUATOR = "evaluator.json"
"""Name of the file that says what computes the network, and how fast it is alone."""
EXPERTS = "experts.fen"
"""Name of the file of expert positions, a FEN a line, in the folder of generation 0."""


class Run:
    """A run folder. Use it as a context manager: only one process may work on a run."""

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder, self.config = folder, config

    # --- making and opening -------------------------------------------------------------------------

    @classmethod
    def create(
        cls, folder: Path, init: Path | Network, config: RunConfig, experts: Sequence[Position] = ()
    ) -> "Run":
        """Start a run from a checkpoint, or from a network that knows nothing.

        Args:
            folder: of the run.
            init: what plays the first generation.
            config: the settings.
            experts: positions of expert games, for games that begin there.

        Raises:
            RunError: the folder already holds something.
            CheckpointError: the checkpoint does not fit.
        """
        # A run that was killed while it was made has no settings yet: it is made again.
        if folder.exists() and {path.name for path in folder.iterdir()} - {"gen_0000"}:
            raise RunError(f"{folder}: expected no such folder or an empty one, found files that are no run")
        if config.start.experts and not experts:
            raise RunError(
                f"{folder}: expected positions for {config.start.experts:.0%} of the games, found none"
            )
        checkpoint = load_checkpoint(init) if isinstance(init, Path) else None
        network = checkpoint.network() if checkpoint else init
        if isinstance(network, Network) and config.game != network.encode.GAME:
            raise RunError(
                f"{folder}: expected a network for {config.game}, found one for {network.encode.GAME}"
            )
        first = folder / "gen_0000"
        first.mkdir(parents=True, exist_ok=True)
        if checkpoint is not None:
            save_checkpoint(
                first / "network.ckpt",
                checkpoint.network(),
                metrics=checkpoint.metrics,
                info={**checkpoint.info, "init": str(init)},
            )
        elif isinstance(init, Network):
            save_checkpoint(first / "network.ckpt", init, info={"init": "none"})
        if experts:
            write_whole(first / EXPERTS, "".join(f"{position.fen}\n" for position in experts))
        # The settings come last: a folder with them is a run.
        write_whole(folder / "config.json", json.dumps(config.to_dict(), indent=2) + "\n")
        return cls(folder, config)

    @classmethod
    def open(cls, folder: Path) -> "Run":
        """Open a run to go on with it or to look at it.

        Raises:
            RunError: the folder is no run, or its settings cannot be read.
        """
        path = folder / "config.json"
        try:
            return cls(folder, RunConfig.from_dict(json.loads(path.read_text(encoding="utf-8"))))
        except FileNotFoundError:
            raise RunError(f"{folder}: expected a run with a config.json, found none") from None
        except ValueError as error:
            raise RunError(f"{path}: {error}") from error

    @staticmethod
    def exists(folder: Path) -> bool:
        """Whether a folder holds a run."""
        return (folder / "config.json").exists()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes off the run.

        Raises:
            RunError: another process works on it.
        """
        with (self.folder / ".lock").open("w") as file:
            try:
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except ImportError:  # systems without it go unguarded
                pass
            except OSError:
                raise RunError(
                    f"{self.folder}: another process is working on this run; wait for it or stop it"
                ) from None
            yield

    # --- what is there ------------------------------------------------------------------------------

    def path(self, generation: int, name: str = "") -> Path:
        """A generation's folder, or a file in it."""
        return self.folder / f"gen_{generation:04d}" / name

    @property
    def kind(self) -> Kind:
        """The game."""
        return kind_of(self.config.game)

    @property
    def generations(self) -> int:
        """Generations that are over."""
        n = 0
        while self.path(n + 1, "done.json").exists():
            n += 1
        return n

    @property
    def network(self) -> Path:
        """The network of the last generation that is over."""
        return self.path(self.generations, "network.ckpt")

    @property
    def ceiling(self) -> float:
        """Evaluations/s that the network alone had in its trial on this machine; 0 if there was none."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            return float(json.loads((self.folder / EVALUATOR).read_text(encoding="utf-8"))["rate"])
        return 0.0

    def history(self) -> list[dict[str, Any]]:
        """What was measured in each generation that is over.

        Raises:
            RunError: a file that cannot be read.
        """
        return [_measured(self.path(n, "done.json")) for n in range(1, self.generations + 1)]

    # --- going on -----------------------------------------------------------------------------------

    def go(self, generations: int, watch: Watch, *, backend: str = "torch") -> None:
        """Go on until `generations` are over in all.

        Args:
            generations: of the whole run; those already over are not repeated.
            watch: is told of every step.
            backend: see `load_evaluator`; what `auto` found is kept in the run's folder, and used again.

        Raises:
            RunError: the run cannot go on.
        """
        with self.lock():
            for rest in self.folder.rglob(".*.tmp"):
                with suppress(OSError):
                    rest.unlink()
            while self.generations < generations:
                self._generation(self.generations + 1, watch, backend)
            self._show()

    def _generation(self, n: int, watch: Watch, backend: str) -> None:
        self.path(n).mkdir(exist_ok=True)
        player = self._load(n, self.path(n - 1, "network.ckpt"), watch, backend)
        try:
            played = self._play(n, player, watch, backend)
            learned = self._learn(n, watch)
            judged = self._judge(n, player, watch, backend)
        finally:
            player.close()
        accepted = judged["accepted"]
        chosen = self.path(n, "candidate.ckpt") if accepted else self.path(n - 1, "network.ckpt")
        _copy(chosen, self.path(n, "network.ckpt"))
        measured = {
            "generation": n,
            "selfplay": played,
            "learn": learned,
            "match": judged,
            "accepted": accepted,
        }
        write_whole(self.path(n, "done.json"), json.dumps(measured, indent=2) + "\n")
        self._show()
        watch(Event(n, "done", 1, 1, measured))

    def _load(self, n: int, checkpoint: Path, watch: Watch, backend: str) -> Evaluator:
        """An evaluator for all groups; `auto` races once in a run: games do not depend on the hour."""
        config, kept = self.config.selfplay, self.folder / EVALUATOR
        prefer: str | None = None
        with suppress(OSError, ValueError, KeyError, TypeError):
            prefer = str(json.loads(kept.read_text(encoding="utf-8"))["backend"])

        def tell(report: Any) -> None:
            if report.chosen != prefer:
                rates = [trial.rate for trial in report.trials if trial.backend == report.chosen]
                told = {"backend": report.chosen, "rate": max(rates, default=0.0), "found": str(report)}
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
            write_views(self.folder, self.history())

    # --- playing ------------------------------------------------------------------------------------

    def _play(self, n: int, player: Evaluator, watch: Watch, backend: str) -> dict[str, Any]:
        rows_path, summary = self.path(n, "rows.parquet"), self.path(n, "selfplay.json")
        shards = self.path(n, "shards")
        if not summary.exists():
            tables, pdn, damaged = read_shards(shards)
            numbers = [number for number in self._numbers(n) if number not in pdn]
            progress = Progress(games=len(pdn), rows=sum(table.num_rows for table in tables))
            for line in damaged:
                watch(Event(n, "selfplay", len(pdn), self.config.games, {"warning": line}))
            seconds = self._play_missing(n, player, numbers, progress, watch, backend)
            tables, pdn, damaged = read_shards(shards)
            if damaged or sorted(pdn) != list(self._numbers(n)):
                raise RunError(
                    f"{shards}: expected {self.config.games} games, found {len(pdn)}; start the run again"
                )
            table = merge(tables)
            write_table(headers_of_rows(table, f"{self.folder.name} generation {n}"), headers_path(rows_path))
            write_whole(self.path(n, "games.pdn"), "".join(pdn[number] for number in sorted(pdn)))
            write_table(table, rows_path)
            evaluations = progress.evaluations
            told = describe(table, seconds, evaluations) | endings(table, pdn.values(), self.config.selfplay)
            pool = self._pool(n)
            if pool.generations:
                told["pool"] = pool.tally(first_scores(table))
            write_whole(summary, json.dumps(told) + "\n")
        shutil.rmtree(shards, ignore_errors=True)
        return _measured(summary)

    def _numbers(self, n: int) -> range:
        return range(n * MOST_GAMES, n * MOST_GAMES + self.config.games)

    def _starts(self, n: int) -> Starts:
        experts: list[Position] = []
        path = self.path(0, EXPERTS)
        if self.config.start.experts:
            try:
                experts = [Position.from_fen(line) for line in path.read_text(encoding="utf-8").split()]
            except (OSError, ValueError) as error:
                raise RunError(f"{path}: expected positions of expert games, found {error}") from error
        return Starts(self.config.start, seed_stream(self.config.seed, n, 3), experts, self.kind)

    def _pool(self, n: int, backend: str | None = None, watch: Watch | None = None) -> Pool:
        """The rivals of generation `n`; without a backend only their seats."""
        config, seed = self.config.pool, seed_stream(self.config.seed, n, 4)
        rivals = draw_rivals(config, self.history()[: n - 1], seed)
        judges = []
        if backend is not None and watch is not None:
            judges = [self._load(n, self.path(g, "network.ckpt"), watch, backend) for g in rivals]
        return Pool(config, seed, rivals, judges)

    def _play_missing(
        self,
        n: int,
        player: Evaluator,
        numbers: list[int],
        progress: Progress,
        watch: Watch,
        backend: str,
    ) -> float:
        pool = self._pool(n, backend, watch)
        writer = ShardWriter(self.path(n, "shards"), n)
        unfinished, damaged = load_unfinished(sorted(self.path(n, "shards").glob("*.npz")))
        for line in damaged:
            watch(Event(n, "selfplay", progress.games, self.config.games, {"warning": line}))
        begun, stop = time.monotonic(), threading.Event()

        def tell() -> None:
            while not stop.wait(0.2):
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
                kind=self.kind,
                on_game=writer.add,
                pool=pool,
                starts=self._starts(n),
                unfinished=unfinished,
                on_snapshot=writer.snapshot,
                progress=progress,
            )
        finally:
            writer.flush()
            stop.set()
            teller.join()
            for rival in pool.evaluators:
                rival.close()
        return time.monotonic() - begun

    # --- learning -----------------------------------------------------------------------------------

    def _learn(self, n: int, watch: Watch) -> dict[str, Any]:
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

    # --- judging ------------------------------------------------------------------------------------

    def _judge(self, n: int, player: Evaluator, watch: Watch, backend: str) -> dict[str, Any]:
        path, gate = self.path(n, "match.json"), self.config.gate
        if not path.exists():
            measured: dict[str, Any] = {"games": 0, "accepted": True}
            if gate.games:
                selfplay = self.config.selfplay
                sims = gate.sims or selfplay.sims
                puct = selfplay.puct._replace(noise_epsilon=0.0, root_rule=PUCT, root_temperature=1.0)
                tables = Tables.open(selfplay.tables) if selfplay.tables else None
                candidate = self._load(n, self.path(n, "candidate.ckpt"), watch, backend)
                try:
                    measured = judge(
                        Player(candidate, sims, puct, tables, kind=self.kind),
                        Player(player, sims, puct, tables, kind=self.kind),
                        gate,
                        path,
                        names=(
                            f"{self.folder.name} gen {n} candidate",
                            f"{self.folder.name} gen {n - 1} network",
                        ),
                        generation=n,
                        seed=seed_stream(self.config.seed, n, 2),
                        kind=self.kind,
                        max_plies=selfplay.max_plies,
                        watch=watch,
                    )
                finally:
                    candidate.close()
            write_whole(path, json.dumps(measured) + "\n")
        self.path(n, "match.part.json").unlink(missing_ok=True)
        return _measured(path)


def _measured(path: Path) -> dict[str, Any]:
    """What a stage wrote down.

    Raises:
        RunError: it cannot be read.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RunError(
            f"{path}: expected what was measured, found a damaged file ({error}); delete it to go on"
        ) from error
    return found


def _copy(source: Path, target: Path) -> None:
    """Copy a file as a whole."""
    write_whole(target, source.read_bytes())


def fresh_folder(runs: Path = Path("runs")) -> Path:
    """The first of `runs/run-001`, `runs/run-002`, ... that does not exist."""
    n = 1
    while (runs / f"run-{n:03d}").exists():
        n += 1
    return runs / f"run-{n:03d}"


__all__ = ["Event", "Run", "RunError", "fresh_folder"]
