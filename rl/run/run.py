"""A run of self-play: a folder that only grows, and the generations of playing, training and a gate match.

    config.json              the settings; target.json has the number of generations asked for
    networks/0000.ckpt       the first network; 0001.ckpt the one that generation 1 trained, and so on
    networks/training.ckpt   state of the generation that is training
    games/0003-NAME-000007.parquet
                             a shard: whole games that the process NAME played, the last move by network 3
    games/0004.json          the shards that generation 4 learns from first, and what was measured of them
    matches/0004.pdn         games of the gate match of network 4
    generations/0004.json    all measurements; marks the generation as finished
    latest.ckpt              the network with which self-play continues
    best.ckpt                the newest network within 10 Elo of the highest in metrics.csv
    metrics.csv              the measurements of every generation as a table; also metrics.png, tensorboard/

Every file is written under a temporary name and renamed, or only grows, and nobody writes the file of another
process. Whoever reads takes what is complete and drops games that it has. So any process may be killed at any
time, and the same command continues the run.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ckai.datasets.files import LockedError, is_locked, locked, remove_temporaries, write_whole
from ckai.datasets.settings import read_settings
from ckai.datasets.split import seed_stream
from ckai.datasets.tables import Tables
from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import quick_turns, repeated, running
from ckai.rl.engine.tree import TreeEngine, by_visits
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.run.config import RunConfig
from ckai.rl.run.dashboard import best_generation, draw_opponents, trained_in, write_dashboard
from ckai.rl.run.games import OWN, LearnedGames, NewGames
from ckai.rl.run.worker import TICK_SECONDS, Networks, RayWorkers, Worker
from ckai.rl.selfplay.play import Numbers
from ckai.rl.selfplay.shards import ckai_version, own_name

if TYPE_CHECKING:
    from ckai.datasets.data_module import Batch
    from ckai.models.network import Network

FORMAT = 4
"""Version of the files of a run."""
CONFIG, TARGET, LOCK = "config.json", "target.json", ".lock"
"""Names of the files with the settings, and with the number of generations asked for; and of the lock."""
GAMES = "games"
"""Name of the folder of shards."""
LOOK_SECONDS = 0.5
"""Time between two looks for shards, and between two reports."""
LEFT_SECONDS = 3600.0
"""Age from which the temporary file of a shard is taken for what a killed worker left."""


class RunError(RuntimeError):
    """A run cannot start or continue; one line that says what was expected and found."""


@dataclass
class RunEvent:
    """Progress of one stage of a generation.

    Attributes:
        generation: counted from 1.
        stage: `selfplay`, `learn`, `gate` or `done`.
        done: finished units of the stage's work: games, training batches, or 1 when the generation is done.
        total: units in all.
        info: measurements so far, by name, such as the evaluations/s of other `workers`; a `warning`, or the
            `evaluator` that was chosen.
    """

    generation: int
    stage: str
    done: int
    total: int
    info: dict[str, Any] = field(default_factory=dict)


EventCallback = Callable[[RunEvent], None]
"""Receives every event of a run; may be called from several threads at once."""


class Run:
    """A run that can be continued; made by `Run.create` or `Run.open`.

    What reads its files raises a RunError, one line, if one cannot be read.
    """

    def __init__(self, folder: Path, config: RunConfig) -> None:
        self.folder, self.config = folder, config
        self._rate = 0.0
        """Evaluations/s of the network alone in this process; 0 before they are measured."""

    # --- creating and opening -----------------------------------------------------------------------

    @classmethod
    def create(
        cls,
        folder: Path,
        init: "Path | Network",
        config: RunConfig,
        *,
        generations: int = 0,
        begun: str = "",
    ) -> Self:
        """Create a run from a checkpoint or a new network.

        Args:
            folder: folder of the run; must not exist or be empty.
            init: network that plays the first generation.
            config: the settings.
            generations: number of generations that it is asked for, see `target`; 0: not known yet.
            begun: what it began with, as the info of its first network keeps it; empty: the name of `init`.

        Raises:
            RunError: the folder holds other files, another process creates a run there, or the network is for
                another game.
        """
        from ckai.models.checkpoint import load_checkpoint, save_checkpoint  # PyTorch takes seconds to import

        _check_new(folder)  # first, so that a folder of something else gets no files
        metrics, info = {}, {"init": begun or "none"}
        if isinstance(init, Path):
            checkpoint = load_checkpoint(init)
            network, metrics = checkpoint.network(), checkpoint.metrics
            info = {**checkpoint.info, "init": begun or str(init)}
        else:
            network = init
        if config.game != network.encode.GAME:
            raise RunError(
                f"{folder}: expected a network for {config.game}, found one for {network.encode.GAME}"
            )
        run = cls(folder, config)
        first = run.network_path(0)
        try:
            first.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(
                f"{folder}: cannot be created ({error.strerror}); choose another or fix the permissions"
            ) from error
        with run.lock():
            _check_new(folder)
            remove_temporaries(folder)
            save_checkpoint(first, network, metrics=metrics, info=info)
            if generations:
                run.set_target(generations)
            # Written last: a folder with settings is a run.
            write_whole(folder / CONFIG, json.dumps({"format": FORMAT, **asdict(config)}, indent=2) + "\n")
        return run

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open a run, to continue or to read it."""
        path = folder / CONFIG
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            found = data.pop("format", None) if isinstance(data, dict) else None
            if found != FORMAT:
                raise RunError(
                    f"{path}: expected a run of format {FORMAT}, found {found}; begin a new run from its "
                    "latest.ckpt"
                )
            return cls(folder, read_settings(RunConfig, data))
        except (FileNotFoundError, NotADirectoryError):
            raise RunError(
                f"{folder}: expected a run with a config.json, found none; check the path"
            ) from None
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror}); check the permissions") from error
        except json.JSONDecodeError as error:
            raise RunError(
                f"{path}: expected the settings of a run as JSON, found a damaged file ({error}); restore it"
            ) from error
        except ValueError as error:
            raise RunError(f"{path}: {error}") from error

    @staticmethod
    def exists(folder: Path) -> bool:
        """Return whether a folder holds a run."""
        return (folder / CONFIG).exists()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold an exclusive lock on the run during a `with` block; a RunError says that another has it."""
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.folder / LOCK))
            except LockedError:
                raise RunError(
                    f"{self.folder}: another process works on this run; wait for it or stop it"
                ) from None
            yield

    # --- contents -----------------------------------------------------------------------------------

    def network_path(self, n: int) -> Path:
        """Return the checkpoint of the network that generation `n` trained; 0: the first one."""
        return self.folder / "networks" / f"{n:04d}.ckpt"

    def learned_path(self, n: int) -> Path:
        """Return the file that names the shards of generation `n`, see `LearnedGames`."""
        return self.folder / GAMES / f"{n:04d}.json"

    def match_path(self, n: int) -> Path:
        """Return the file with the games of the gate match of generation `n`."""
        return self.folder / "matches" / f"{n:04d}.pdn"

    def measured_path(self, n: int) -> Path:
        """Return the file with the measurements of generation `n`, which is finished if there is one."""
        return self.folder / "generations" / f"{n:04d}.json"

    @property
    def spec(self) -> GameSpec:
        """The game."""
        return get_game(self.config.game)

    @property
    def generations(self) -> int:
        """Number of finished generations."""
        n = 0
        while self.measured_path(n + 1).exists():
            n += 1
        return n

    @property
    def target(self) -> int:
        """Number of generations that the run was last asked for; 0 if it was never asked."""
        return int(self.asked().get("generations", 0))

    def asked(self) -> dict[str, Any]:
        """Return what the run was last asked for: `generations`, and the `version` of ckai that was."""
        with suppress(OSError, ValueError, TypeError):
            return dict(json.loads((self.folder / TARGET).read_text(encoding="utf-8")))
        return {}

    def set_target(self, generations: int) -> None:
        """Record the number of generations that the run is asked for."""
        asked = {"generations": generations, "version": ckai_version()}
        write_whole(self.folder / TARGET, json.dumps(asked) + "\n")

    @property
    def status(self) -> str:
        """`running` if a process works on it, `finished` if it has all its generations, or `unfinished`."""
        if is_locked(self.folder / LOCK):
            return "running"
        return "unfinished" if self.generations < self.target else "finished"

    @property
    def network(self) -> Path:
        """Checkpoint of the network that plays now."""
        return self.network_path(self.trained(self.generations))

    def trained(self, n: int) -> int:
        """Return the number of the network after generation `n`, see `trained_in`."""
        return trained_in(self.history(), n)

    def history(self) -> list[dict[str, Any]]:
        """Read the measurements of each finished generation."""
        return [_read(self.measured_path(n), json.loads) for n in range(1, self.generations + 1)]

    def learned(self, n: int) -> LearnedGames:
        """Return what generation `n` learned from first."""
        found: LearnedGames = _read(self.learned_path(n), lambda text: LearnedGames(**json.loads(text)))
        return found

    def shards(self, n: int | None = None) -> list[Path]:
        """Return the shards of generation `n`, or of all finished generations, the oldest first."""
        chosen = range(1, self.generations + 1) if n is None else (n,)
        return [self.folder / GAMES / name for g in chosen for name in self.learned(g).files]

    def new_games(self) -> NewGames:
        """Return the games that no generation has learned from."""
        closed = filter(lambda n: self.learned_path(n).exists(), range(1, self.generations + 2))
        learned = {name for n in closed for name in self.learned(n).files}
        return NewGames(self.folder / GAMES, self.spec.schema, self.config, learned)

    # --- playing ------------------------------------------------------------------------------------

    def networks(self, n: int) -> Networks:
        """Return the networks that play after `n` finished generations."""
        history = self.history()[:n]
        network = trained_in(history, n)
        past = draw_opponents(self.config.pool, history, seed_stream(self.config.seed, n + 1, 4))
        opponents = tuple((g, self.network_path(g).read_bytes()) for g in past)
        return Networks(network, self.network_path(network).read_bytes(), opponents)

    def keep(self, name: str, shard: bytes) -> None:
        """Write a shard."""
        write_whole(self.folder / GAMES / Path(name).name, shard)

    def worker(self, name: str, **more: Any) -> Worker:
        """Return a worker that plays for the run from its folder; `more` as in `Worker`."""
        settings = {"config": self.config, "settings": self.config.hash(), "deliver": self.keep, **more}
        settings.setdefault("latest", lambda: self.generations)
        return Worker(name, networks=self.networks, **settings)

    def join(
        self,
        *,
        backend: str = "auto",
        threads: int = 1,
        on_gpu: bool = False,
        on_progress: Callable[[Worker], None] = lambda worker: None,
        stop: threading.Event | None = None,
    ) -> Worker:
        """Play games for a run of another process, in the same folder, until it has all its generations.

        Args:
            backend: evaluator backend, see `load_evaluator`.
            threads: threads that play.
            on_gpu: have as many games in flight as a GPU wants.
            on_progress: called every `TICK_SECONDS`.
            stop: set it to end early; games in progress are dropped.

        Returns:
            The worker, with what it has done.

        Raises:
            RuntimeError: the run's process has another version of ckai.
        """
        over = stop or threading.Event()

        def latest() -> int | None:
            asked = self.asked()
            if (found := asked.get("version", ckai_version())) != ckai_version():
                raise RuntimeError(
                    f"expected ckai {found} as in the run's process, found {ckai_version()}; install the "
                    "same version on all machines"
                )
            done = self.generations
            if 0 < self.target <= done:
                over.set()
            return done if asked else None

        config = self.config.for_gpu() if on_gpu else self.config
        worker = self.worker(own_name(), config=config, latest=latest, backend=backend, threads=threads)
        with repeated(lambda: on_progress(worker), TICK_SECONDS, over):
            worker.run(over)
        return worker

    def go(
        self,
        generations: int,
        on_event: EventCallback = lambda event: None,
        *,
        backend: str = "torch",
        ray: RayWorkers | None = None,
    ) -> None:
        """Continue until the run has `generations` finished generations in total.

        Args:
            generations: total number, including those already finished.
            on_event: called with the progress of every stage, and at the end of each generation with its
                measurements, see `RunEvent`.
            backend: evaluator backend, see `load_evaluator`.
            ray: workers on Ray, which play in place of this process; closed at the end.

        Raises:
            RunError: the run is locked by another process, or its files are damaged.
            CheckpointError, DatasetError, ValueError: a network, rows or tablebases cannot be used.
            BackendError: the evaluator cannot run the network.
            TrainingError: the loss is not finite.
            WriteError: the folder cannot be written.
        """
        with self.lock(), ExitStack() as stack:
            if ray is not None:
                stack.callback(ray.close)
            remove_temporaries(self.folder, skip=GAMES)
            _remove_left(self.folder / GAMES)
            if generations > self.generations:
                self.set_target(generations)
                self._go(generations, on_event, backend, ray)
            self._publish()

    def _go(self, generations: int, on_event: EventCallback, backend: str, ray: RayWorkers | None) -> None:
        stop, games, finished = threading.Event(), self.new_games(), time.monotonic()
        own: Worker | None = None
        if ray is None:
            loaded = partial(self._on_load, on_event)
            name = f"{OWN}.{own_name()}" if self.config.overlap else OWN
            own = self.worker(name, backend=backend, on_load=loaded)
        with ExitStack() as stack:
            if ray is not None:
                stack.enter_context(repeated(partial(self._exchange, ray, on_event), LOOK_SECONDS, stop))
            elif self.config.overlap and own is not None:
                stack.enter_context(quick_turns())
                stack.enter_context(running([partial(own.run, stop)], stop, name="self-play"))
            while not stop.is_set() and (n := self.generations + 1) <= generations:
                if not self.learned_path(n).exists():
                    self._wait_for_games(n, games, own, on_event, stop)
                    if stop.is_set():
                        break
                    waited = round(time.monotonic() - finished, 3)
                    games.learn(self.learned_path(n), network=self.trained(n - 1), learner_waited=waited)
                self._finish(n, on_event, backend, own)
                finished = time.monotonic()
            stop.set()

    def _wait_for_games(
        self, n: int, games: NewGames, own: Worker | None, on_event: EventCallback, stop: threading.Event
    ) -> None:
        """Wait until generation `n` has its games; where playing and learning take turns, play them."""
        begun, before = time.monotonic(), own.progress.evaluations if own else 0
        size, turns = self.config.games, own is not None and not self.config.overlap

        def others() -> int:
            return sum(played.games for played in games.others.values())

        def look() -> None:
            evaluations = own.progress.evaluations - before if own else 0
            self._look(n, games, on_event, evaluations / max(1e-3, time.monotonic() - begun))

        look()
        while games.count < size and not stop.is_set():
            if own is not None and turns:
                block = range((n - 1) * size, n * size)
                with repeated(look, LOOK_SECONDS, stop):
                    own.run(stop, Numbers.fixed(block, self.config.selfplay.group_count, games.own, others))
            else:
                stop.wait(LOOK_SECONDS)
            look()

    def _look(self, n: int, games: NewGames, on_event: EventCallback, own_rate: float) -> None:
        """Take the shards that have come, and tell of it; `own_rate` is evaluations/s of this process."""
        size = self.config.games
        for line in games.look():
            on_event(RunEvent(n, "selfplay", games.count, size, {"warning": line}))
        workers = {name: each.evaluations / max(1e-3, each.seconds) for name, each in games.others.items()}
        info: dict[str, Any] = {"evaluations_per_second": own_rate + sum(workers.values())}
        if workers:
            info["workers"] = workers
        on_event(RunEvent(n, "selfplay", min(games.count, size), size, info))

    def _exchange(self, ray: RayWorkers, on_event: EventCallback) -> None:
        """Write the shards that actors on Ray have played, and tell them of a new network."""
        n = self.generations
        for name, shard in ray.exchange(n, self.networks, self.config):
            self.keep(name, shard)
        while ray.warnings:
            on_event(RunEvent(n + 1, "selfplay", 0, self.config.games, {"warning": ray.warnings.pop(0)}))

    def _on_load(self, on_event: EventCallback, evaluator: Evaluator) -> None:
        """Measure what the evaluator can do, the first time."""
        if not self._rate:
            from ckai.models.checkpoint import load_checkpoint
            from ckai.models.inference.backends import best_rate

            play, encoding = self.config.selfplay, load_checkpoint(self.network).network().encode
            batches = sorted({-(-min(play.in_flight, self.config.games) // play.group_count), 256, 1024})
            self._rate, _, _ = best_rate(evaluator, encoding, batches, (play.group_count,))
            info = {"evaluator": evaluator.name, "ceiling": self._rate}
            on_event(RunEvent(self.generations + 1, "selfplay", 0, self.config.games, info))

    # --- the end of a generation ----------------------------------------------------------------------

    def _finish(self, n: int, on_event: EventCallback, backend: str, own: Worker | None) -> None:
        """Train on the games of a generation, play its gate match, and mark it as finished.

        Nothing is played during the match: it evaluates few positions at a time, so that it would take many
        times as long with thousands from self-play in between, and slow self-play down all the while.
        """

        def told(stage: str) -> Callable[..., None]:
            return lambda done, total, **info: on_event(RunEvent(n, stage, done, total, info))

        learned = self._learn(n, told("learn"))
        with own.paused() if own is not None else nullcontext():
            gate = self._play_gate(n, told("gate"), backend)
        measured = {
            "generation": n,
            "selfplay": self.learned(n).measured,
            "learn": learned,
            "match": gate,
            "accepted": gate["accepted"],
        }
        write_whole(self.measured_path(n), json.dumps(measured, indent=2) + "\n")
        self._publish()
        on_event(RunEvent(n, "done", 1, 1, measured))

    def _publish(self) -> None:
        """Update the files made from the finished generations: latest.ckpt, best.ckpt and the metrics."""
        history = self.history()
        best = trained_in(history, best_generation(history))
        for path, name in ((self.network, "latest.ckpt"), (self.network_path(best), "best.ckpt")):
            write_whole(self.folder / name, path.read_bytes())
        if history:
            write_dashboard(self.folder, history)

    def transform(self, batch: "Batch") -> "Batch":
        """Return the batch to train on in place of another; override it for targets of your own.

        Args:
            batch: as it is read from the rows, see `ckai.datasets.data_module`.
        """
        return batch

    def window(self, n: int) -> list[Path]:
        """Return the shards that generation `n` trains on, the oldest first.

        They are in its window, but no older than the newest that have as many games as it asks
        for: while playing does not wait for learning, more may have been played.
        """
        width, found, count = self.config.learn.window_of(n), list[Path](), 0
        for g in range(n, max(0, n - width), -1):
            for name, games in sorted(self.learned(g).files.items(), reverse=True):
                if count < width * self.config.games:
                    found.append(self.folder / GAMES / name)
                    count += games
        return found[::-1]

    def _learn(self, n: int, progress: Callable[..., None]) -> dict[str, Any]:
        from ckai.rl.run.generation import learn  # PyTorch takes seconds to import

        return learn(
            self.network_path(self.trained(n - 1)),
            self.window(n),
            self.network_path(n),
            self.config.learn,
            generation=n,
            seed=seed_stream(self.config.seed, n, 1) % 2**31,
            game=self.config.game,
            run=self.folder.name,
            progress=progress,
            transform=self.transform,
        )

    def _play_gate(self, n: int, progress: Callable[..., None], backend: str) -> dict[str, Any]:
        from ckai.rl.run.generation import play_gate_match

        gate = self.config.gate
        if not gate.games:
            return {"games": 0, "accepted": True}
        old = self.trained(n - 1)
        play = self.config.selfplay
        tables = Tables.open(play.tables) if play.tables else None

        def engine(network: int) -> TreeEngine:
            """With the constants of play, as best.ckpt has in use, and none of self-play."""
            path, game = self.network_path(network), self.config.game
            loaded = load_evaluator(path, backend, threads=play.group_count, game=game)
            made = by_visits(loaded, play.sims, tables=tables, spec=self.spec)
            made.owns_evaluator = True
            return made

        with engine(n) as new_engine, engine(old) as old_engine:
            return play_gate_match(
                new_engine,
                old_engine,
                gate,
                self.match_path(n),
                names=(f"{self.folder.name} network {n}", f"{self.folder.name} network {old}"),
                seed=seed_stream(self.config.seed, n, 2),
                spec=self.spec,
                max_plies=play.max_plies,
                progress=progress,
            )


def _check_new(folder: Path) -> None:
    """Raise a RunError unless a run can be created in a folder, perhaps after a kill during its creation."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"{folder}: expected a new or empty folder, found a file; choose another")
    names = [path.name for path in folder.iterdir()] if folder.exists() else []
    if CONFIG in names:
        raise RunError(f"{folder}: expected a new or empty folder, found a run; choose another")
    if any(name not in ("networks", TARGET) and not name.startswith(".") for name in names):
        raise RunError(
            f"{folder}: expected a new or empty folder, found files that are not a run; choose another"
        )


def _read(path: Path, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (ValueError, TypeError) as error:
        raise RunError(
            f"{path}: expected measurements as JSON, found a damaged file ({error}); delete it to continue"
        ) from error
    except OSError as error:
        raise RunError(f"{path}: cannot be read ({error.strerror}); check the permissions") from error


def _remove_left(folder: Path) -> None:
    """Remove the temporary files that workers left which were killed long ago, on whatever machine."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LEFT_SECONDS:
                path.unlink()
