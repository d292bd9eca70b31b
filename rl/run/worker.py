"""Plays games for a run and delivers them: the run's own process, those that join it, and actors on Ray.

Actors send the shards that they have played. The process of the run owns them, which end with it, and the
only copy of a network that it puts into the object store. It asks every actor again and again for shards.
Actors restart, new ones are made as nodes join, and one that does not answer keeps nobody waiting.
"""

import os
import secrets
import socket
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ckai.datasets.machine import available_cores
from ckai.datasets.split import seed_stream
from ckai.models.inference.evaluator import Evaluator, import_extra
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.threads import repeated
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.run.config import RunConfig, WorkersConfig
from ckai.rl.selfplay.play import Numbers, Player, Pool, SelfPlayCounts, Starts, compile_selfplay, play_games
from ckai.rl.selfplay.shards import Shard, ShardWriter, ckai_version, hash_of, own_name

TICK_SECONDS = 1.0
"""Time between two looks for a new network."""
SHARD_SECONDS = 4.0
"""Most time for which a finished game is not delivered."""

LOCAL, AUTO = "local", "auto"
"""Addresses: a cluster of this machine alone, which is started and ended; the one that runs here."""
STORE_MB = 200
"""Shared memory of the object store of a cluster that is started here."""
KNOCK_SECONDS = 5.0
"""Time for a cluster to answer."""
ASK_SECONDS = 1.0
"""Time between two questions to an actor."""
NODES_SECONDS = 2.0
"""Time between two looks for nodes that joined or left."""
MAX_FAILURES = 3
"""Failures in a row, of all workers together, after which the run ends."""
VERSION = "as in the run's process"
"""Part of the error of a worker that has another version."""


@dataclass(frozen=True)
class Networks:
    """The networks that play after a number of finished generations, as plain data."""

    network: int
    """Number of the newest one: the generation that trained it, 0 for the first one."""
    checkpoint: bytes
    opponents: tuple[tuple[int, bytes], ...] = ()
    """Number and checkpoint of each past network in the pool."""


class Worker:
    """Plays with the newest network of a run, from one network to the next without a break."""

    def __init__(
        self,
        name: str,
        config: RunConfig,
        latest: Callable[[], int | None],
        networks: Callable[[int], Networks],
        deliver: Callable[[str, bytes], None],
        *,
        backend: str = "auto",
        threads: int = 0,
        settings: str = "",
        on_load: Callable[[Evaluator], None] = lambda evaluator: None,
    ) -> None:
        """Begin without a network.

        Args:
            name: its name; with it and the seed of the run, numbers give games their random streams.
            config: settings of the run; `selfplay.in_flight` may differ from the run's own.
            latest: returns the number of finished generations, None if nobody knows it yet.
            networks: returns the networks that play after so many.
            deliver: takes the name and the bytes of each shard.
            backend: evaluator backend, see `load_evaluator`.
            threads: threads that play; 0: as in the settings.
            settings: hash of the settings of the run, see `RunConfig.hash`; empty: the hash of `config`.
            on_load: called with the first network that is loaded, before it plays.
        """
        self.name, self.progress = name, SelfPlayCounts()
        self.evaluator = ""
        """Name of the backend that plays; empty before the first game."""
        play = replace(config.selfplay, groups=threads or config.selfplay.groups)
        self._config, self._play, self._spec = config, play, get_game(config.game)
        self._latest, self._networks, self._backend, self._on_load = latest, networks, backend, on_load
        self._seed = seed_stream(config.seed, zlib.crc32(name.encode()))
        self._writer = ShardWriter(Shard(name, settings or config.hash()), deliver)
        # More games of one network than the window has are of no use, once those in flight have ended.
        most = config.learn.window_of(1) * config.games + play.in_flight
        self._numbers, self._generations = Numbers.counting(play.group_count, most), -1
        self._player: Player | None = None
        self._may_play = threading.Event()
        self._may_play.set()

    def run(self, stop: threading.Event, numbers: Numbers | None = None) -> None:
        """Play until `stop` is set, which drops the games in progress.

        Args:
            stop: see there.
            numbers: games to play and then return, all with the networks of now; None: no end.
        """
        while (now := self._latest()) is None:
            if stop.wait(TICK_SECONDS / 4):
                return
        self._load(now)
        assert self._player is not None
        self._on_load(self._player.evaluator)
        compile_selfplay(self._spec, isinstance(self._player.evaluator, IntegerEvaluator))
        self._writer.begin(self.progress.evaluations)

        def look() -> None:
            now = self._latest()
            if numbers is None and now not in (None, self._generations):
                self._load(now)
                self._numbers.renew()

        def flush() -> None:
            self._writer.flush(self.progress.evaluations)

        try:
            with repeated(look, TICK_SECONDS, stop), repeated(flush, SHARD_SECONDS, stop):
                play_games(
                    self._current,
                    self._play,
                    numbers or self._numbers,
                    seed=self._seed,
                    on_game=self._writer.add,
                    spec=self._spec,
                    starts=Starts(self._config.start, seed_stream(self._seed, 3), self._spec),
                    progress=self.progress,
                    stop=stop,
                )
        finally:
            flush()
            self._player.close()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Evaluate no further batch during the block of the `with` statement."""
        self._may_play.clear()
        try:
            yield
        finally:
            self._may_play.set()

    def _current(self) -> Player:
        self._may_play.wait()
        assert self._player is not None
        return self._player

    def _load(self, generations: int) -> None:
        """Load the networks that play after so many generations."""
        found, loaded = self._networks(generations), list[Evaluator]()
        groups, game = self._play.group_count, self._config.game
        with tempfile.TemporaryDirectory(prefix="ckai-") as folder:
            path = Path(folder, "network.ckpt")
            for checkpoint in (found.checkpoint, *(past for _, past in found.opponents)):
                path.write_bytes(checkpoint)
                loaded.append(load_evaluator(path, self._backend, threads=groups, game=game))
        past = dict(zip((number for number, _ in found.opponents), loaded[1:], strict=True))
        self._writer.networks[found.network] = hash_of(found.checkpoint)
        self._generations, self.evaluator = generations, loaded[0].name
        pool = Pool(self._config.pool, seed_stream(self._seed, 4), past) if past else None
        self._player = Player(loaded[0], found.network, pool)


def import_ray() -> Any:
    """Import Ray; a BackendError says that it is not installed."""
    return import_extra("ray", "ray")


def connect(address: str, config: WorkersConfig) -> None:
    """Connect to a cluster, or start one on this machine.

    Args:
        address: `local`, `auto` for the cluster that runs on this machine, or host:port.
        config: settings of the workers.

    Raises:
        RuntimeError: Ray is missing, there is no such cluster, or it has another version of Ray or Python.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray prints the log of every node that leaves on standard output, `log_to_driver` or not: print no line.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    options: dict[str, Any] = {}
    if address == LOCAL:
        # Ray lets its workers give way to everything else: next to one busy process they would hardly play.
        os.environ.setdefault("RAY_worker_niceness", "0")
        # Ray listens on all addresses of the machine; whoever connects needs this token.
        if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        cores = config.cpus_per_worker * (config.count or max(1, available_cores() // config.cpus_per_worker))
        options = {"num_cpus": cores, "object_store_memory": STORE_MB * 2**20, "include_dashboard": False}
    ray = import_ray()
    advice = "start one with `ray start --head`, or give --ray local"
    try:
        if address not in (LOCAL, AUTO):
            host, colon, port = address.rpartition(":")
            if not colon or not port.isdecimal():
                raise ValueError("not host:port")
            socket.create_connection((host, int(port)), KNOCK_SECONDS).close()  # Ray would wait for minutes
            advice = "check that RAY_AUTH_MODE and RAY_AUTH_TOKEN are the cluster's, and the versions of Ray"
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **options)
    except (RuntimeError, ValueError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RuntimeError(
            f"--ray {address}: expected a cluster of Ray {ray.__version__}, found none that answers "
            f"({reason[:300]}); {advice}"
        ) from error


def reason_of(error: BaseException) -> str:
    """Return what a remote error says, in one line and without the traceback."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    named = [line for line in lines if "Error: " in line]
    return (named or lines or [type(cause).__name__])[-1].rpartition("Error: ")[2]


class WorkerActor:
    """The actor: a `Worker` on a node."""

    def __init__(self, version: str, config: RunConfig, backend: str, threads: int) -> None:
        mine = ckai_version()
        if mine != version:
            raise RuntimeError(
                f"{socket.gethostname()}: expected ckai {version} {VERSION}, found {mine}; "
                "install the same version on all nodes"
            )
        self._now: tuple[int | None, Any] = (None, None)
        self._shards, self._lock = list[tuple[str, bytes]](), threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._worker = Worker(
            own_name(),
            config,
            lambda: self._now[0],
            lambda generations: import_ray().get(self._now[1]),
            self._deliver,
            backend=backend,
            threads=threads,
        )

    def exchange(self, generations: int, networks: list[Any]) -> tuple[str, list[tuple[str, bytes]]]:
        """Play with networks, a list with the reference to them; return the name and bytes of shards."""
        self._now = (generations, networks[0])
        if self._thread is None or not self._thread.is_alive():
            error, self._error = self._error, None
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
            if error is not None:
                raise error
        with self._lock:
            shards, self._shards = self._shards, []
        return self._worker.name, shards

    def _run(self) -> None:
        try:
            self._worker.run(threading.Event())
        except Exception as error:
            self._error = error

    def _deliver(self, name: str, shard: bytes) -> None:
        with self._lock:
            self._shards.append((name, shard))


@dataclass
class _Actor:
    handle: Any
    answer: Any = None
    """Reference to the awaited answer of `WorkerActor.exchange`; None: none is awaited."""
    asked: float = 0.0
    """When it was last asked."""
    name: str = ""
    """Its name; empty until it has answered."""


class RayWorkers:
    """The workers of a run on a Ray cluster, seen from its process; used by one thread at a time."""

    def __init__(self, backend: str, config: WorkersConfig) -> None:
        """Begin without actors; `connect` comes first. For `backend` see `load_evaluator`."""
        self.warnings: list[str] = []
        """What went wrong, each one line; the caller empties it."""
        self._ray, self._config, self._backend = import_ray(), config, backend
        self._actors: list[_Actor] = []
        self._generations, self._networks = -1, None
        self._looked, self._failures = 0.0, 0

    def exchange(
        self, generations: int, networks: Callable[[int], Networks], config: RunConfig
    ) -> Iterator[tuple[str, bytes]]:
        """Yield the name and bytes of the shards that have come; called several times a second.

        `generations` are finished, and `networks` returns the networks that play after so many. A
        RuntimeError says that no worker can play, or that the networks do not fit into the object store.
        """
        if generations != self._generations:
            try:
                self._networks = self._ray.put(networks(generations))
            except self._ray.exceptions.RayError as error:
                raise RuntimeError(
                    f"expected room for the networks in Ray's object store, found {type(error).__name__}; "
                    "start the cluster with more --object-store-memory"
                ) from error
            self._generations = generations
        now = time.monotonic()
        if now - self._looked > NODES_SECONDS:
            self._looked = now
            self._follow_nodes(config)
        for actor in list(self._actors):
            if actor.answer is None:
                if now - actor.asked > ASK_SECONDS:
                    actor.answer = actor.handle.exchange.remote(generations, [self._networks])
                    actor.asked = now
            elif self._ray.wait([actor.answer], timeout=0)[0]:
                yield from self._answer_of(actor)

    def close(self) -> None:
        """End the actors and the connection, with it a cluster that was started here."""
        for actor in self._actors:
            self._ray.kill(actor.handle)
        self._actors, self._networks = [], None
        self._ray.shutdown()

    def _room(self) -> int:
        """Return how many workers the living nodes have room for, at most those wanted."""
        config, room = self._config, 0
        for resources in (node["Resources"] for node in self._ray.nodes() if node["Alive"]):
            there = int(resources.get("CPU", 0)) // config.cpus_per_worker
            if config.gpus_per_worker:
                there = min(there, int(resources.get("GPU", 0) / config.gpus_per_worker))
            room += there
        return min(room, config.count or room)

    def _follow_nodes(self, run: RunConfig) -> None:
        """Make actors for nodes that joined, and let those go that have no node."""
        room, config = self._room(), self._config
        for actor in [actor for actor in self._actors if not actor.name]:
            if len(self._actors) > room:
                self._drop(actor)
        options = {
            "num_cpus": config.cpus_per_worker,
            "num_gpus": config.gpus_per_worker,
            "max_restarts": -1,
            "max_concurrency": 2,
            "scheduling_strategy": "SPREAD",
        }
        mine = (ckai_version(), run, self._backend, config.cpus_per_worker)
        while len(self._actors) < room:
            self._actors.append(_Actor(self._ray.remote(WorkerActor).options(**options).remote(*mine)))

    def _drop(self, actor: _Actor) -> None:
        self._ray.kill(actor.handle)
        self._actors.remove(actor)

    def _answer_of(self, actor: _Actor) -> list[tuple[str, bytes]]:
        """Return the shards of an actor that has answered; it is asked again later, or dropped."""
        exceptions, answer, actor.answer = self._ray.exceptions, actor.answer, None
        try:
            actor.name, shards = self._ray.get(answer)
            if shards:
                self._failures = 0
            return list(shards)
        except exceptions.RayTaskError as error:
            self.warnings.append(f"worker {actor.name or 'on Ray'}: {reason_of(error)}")
            self._failures += 1
            if self._failures >= MAX_FAILURES:
                raise RuntimeError(f"no worker can play: {reason_of(error)}") from error
        except exceptions.RayError as error:
            if isinstance(error, exceptions.ActorDiedError) and VERSION in str(error):
                raise RuntimeError(reason_of(error)) from error
            if actor.name:
                self.warnings.append(f"worker {actor.name}: {type(error).__name__}")
            actor.name = ""
            if not isinstance(error, exceptions.ActorUnavailableError):  # which restarts
                self._drop(actor)
        return []
