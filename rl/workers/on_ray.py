"""Workers on Ray: actors on the nodes of a cluster.

The process of the run owns the actors, which end with it, and the only copy of a generation's networks that
it puts into the object store. It asks every actor again and again for the games that have ended. Actors
restart, new ones are made as nodes join, and one that does not answer keeps nobody waiting.
"""

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ckai.rl.workers.cluster import RayError, import_ray, reason_of
from ckai.rl.workers.config import WorkersConfig
from ckai.rl.workers.delivery import ckai_version
from ckai.rl.workers.worker import Worker, WorkerError, WorkerSetup

ASK_SECONDS = 1.0
"""Time between two questions to an actor."""
NODES_SECONDS = 2.0
"""Time between two looks for nodes that joined or left."""
MAX_FAILURES = 3
"""Failures in a row, of all workers together, after which the run ends."""


class WorkerActor:
    """The actor: a `Worker` on a node."""

    def __init__(self, version: str, backend: str, threads: int) -> None:
        mine = ckai_version()
        if mine != version:
            raise WorkerError(
                f"{socket.gethostname()}: expected ckai {version} as in the run's process, found {mine}; "
                "install the same version on all nodes"
            )
        self._ray = import_ray()
        self._now: tuple[int | None, Any] = (None, None)
        self._finished, self._lock = list[bytes](), threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None
        self._worker = Worker(
            f"{socket.gethostname()}-{os.getpid()}",
            lambda: self._now[0],
            lambda generation: self._ray.get(self._now[1]),
            self._deliver,
            backend=backend,
            threads=threads,
        )

    def exchange(self, generation: int, setup: list[Any]) -> tuple[str, list[bytes]]:
        """Play for a generation, `setup` has the reference to its `WorkerSetup`; return finished games."""
        self._now = (generation, setup[0])
        if self._thread is None or not self._thread.is_alive():
            error, self._error = self._error, None
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
            if error is not None:
                raise error
        with self._lock:
            finished, self._finished = self._finished, []
        return self._worker.name, finished

    def pause(self) -> None:
        """Begin no games until the next exchange."""
        self._now = (None, None)

    def _run(self) -> None:
        try:
            self._worker.run(threading.Event())
        except Exception as error:
            self._error = error

    def _deliver(self, data: bytes) -> None:
        with self._lock:
            self._finished.append(data)


@dataclass
class _Actor:
    """An actor, as its owner sees it."""

    handle: Any
    answer: Any = None
    """Reference to the awaited answer of `WorkerActor.exchange`; None: none is awaited."""
    asked: float = 0.0
    """When it was last asked."""
    name: str = ""
    """Its name; empty until it has answered."""


class RayWorkers:
    """The workers of a run on a Ray cluster, see `Workers`."""

    plays_here = False

    def __init__(self, backend: str, config: WorkersConfig) -> None:
        """Begin without actors; `connect` comes first.

        Args:
            backend: evaluator backend, see `load_evaluator`.
            config: settings of the workers.
        """
        self.warnings: list[str] = []
        self._ray, self._config = import_ray(), config
        self._arguments = (ckai_version(), backend, config.cpus_per_worker)
        self._actors: list[_Actor] = []
        self._generation, self._setup = 0, None
        self._looked, self._failures = 0.0, 0

    def begin(self, generation: int, setup_of: Callable[[int], WorkerSetup]) -> None:
        """See `Workers`.

        Raises:
            RayError: the networks do not fit into the object store.
        """
        try:
            self._generation, self._setup = generation, self._ray.put(setup_of(generation))
        except self._ray.exceptions.RayError as error:
            raise RayError(
                f"expected room for the networks in Ray's object store, found {type(error).__name__}; "
                "start the cluster with more --object-store-memory, or give --ray local a larger "
                "--store-mb"
            ) from error

    def deliveries(self) -> Iterator[tuple[str, bytes]]:
        """See `Workers`.

        Raises:
            RayError: no worker can play.
        """
        now = time.monotonic()
        if now - self._looked > NODES_SECONDS:
            self._looked = now
            self._follow_nodes()
        for actor in list(self._actors):
            if actor.answer is None:
                if now - actor.asked > ASK_SECONDS:
                    actor.answer = actor.handle.exchange.remote(self._generation, [self._setup])
                    actor.asked = now
            elif self._ray.wait([actor.answer], timeout=0)[0]:
                for data in self._answer_of(actor):
                    yield actor.name, data

    def end(self) -> None:
        """See `Workers`."""
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayError):
                actor.handle.pause.remote()

    def close(self) -> None:
        """End the actors and the connection, with it a cluster that was started here."""
        for actor in self._actors:
            self._ray.kill(actor.handle)
        self._actors, self._setup = [], None
        self._ray.shutdown()

    def room(self) -> list[tuple[str, int]]:
        """Return the living nodes by name, and how many workers each has room for, at most those wanted."""
        config, rooms = self._config, list[tuple[str, int]]()
        left = config.count or None
        for node in self._ray.nodes():
            if not node["Alive"]:
                continue
            there = int(node["Resources"].get("CPU", 0)) // config.cpus_per_worker
            if config.gpus_per_worker:
                there = min(there, int(node["Resources"].get("GPU", 0) / config.gpus_per_worker))
            if left is not None:
                there = min(there, left)
                left -= there
            if there:
                rooms.append((node["NodeManagerHostname"], there))
        return rooms

    def _follow_nodes(self) -> None:
        """Make actors for nodes that joined, and let those go that have no node."""
        room, config = sum(count for _, count in self.room()), self._config
        for actor in [actor for actor in self._actors if not actor.name]:
            if len(self._actors) > room:
                self._drop(actor)
        while len(self._actors) < room:
            options = {
                "num_cpus": config.cpus_per_worker,
                "num_gpus": config.gpus_per_worker,
                "max_restarts": -1,
                "max_concurrency": 2,
                "scheduling_strategy": "SPREAD",
            }
            self._actors.append(
                _Actor(self._ray.remote(WorkerActor).options(**options).remote(*self._arguments))
            )

    def _drop(self, actor: _Actor) -> None:
        self._ray.kill(actor.handle)
        self._actors.remove(actor)

    def _answer_of(self, actor: _Actor) -> list[bytes]:
        """Return the finished games of an actor that has answered; it is asked again later, or dropped."""
        exceptions, answer, actor.answer = self._ray.exceptions, actor.answer, None
        try:
            actor.name, finished = self._ray.get(answer)
            if finished:
                self._failures = 0
            return list(finished)
        except exceptions.RayTaskError as error:
            self.warnings.append(f"worker {actor.name or 'on Ray'}: {reason_of(error)}")
            self._failures += 1
            if self._failures >= MAX_FAILURES:
                raise RayError(f"no worker can play: {reason_of(error)}") from error
        except exceptions.RayError as error:
            if isinstance(error, exceptions.ActorDiedError) and "WorkerError" in str(error):
                raise RayError(reason_of(error)) from error
            if actor.name:
                self.warnings.append(f"worker {actor.name}: {type(error).__name__}")
            actor.name = ""
            if not isinstance(error, exceptions.ActorUnavailableError):  # which restarts
                self._drop(actor)
        return []
