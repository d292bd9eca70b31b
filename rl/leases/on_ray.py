"""Leases on Ray: workers are actors on the nodes of a cluster.

The process of the run owns everything: the leases, the only copy of a generation's networks that it puts
into the object store, and the actors, which end with it. An actor has at most `LEASES` leases, so no shards
queue up. Whatever Ray reports about an actor, its leases go back; actors restart, and new ones are made as
nodes join.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ckai.rl.leases.actor import WorkerActor
from ckai.rl.leases.cluster import RayError, import_ray, reason_of
from ckai.rl.leases.config import WorkersConfig
from ckai.rl.leases.lease import Lease, ckai_version
from ckai.rl.leases.ledger import Ledger, lease_size
from ckai.rl.leases.worker import LEASES, WorkerSetup
from ckai.rl.leases.workers import HEARTBEAT_SECONDS, Heartbeat
from ckai.rl.selfplay.shards import ShardError

NODES_SECONDS = 2.0
"""Time between two looks for nodes that joined or left."""
MAX_FAILURES = 3
"""Failed leases in a row, of all workers together, after which the run ends."""


@dataclass
class _Actor:
    """An actor, as its owner sees it."""

    handle: Any
    heartbeat: Any
    """Reference to the awaited answer of `WorkerActor.heartbeat`; None: none is awaited."""
    heard: float
    """When it last answered, or was last asked for a heartbeat: between generations nobody asks."""
    name: str = ""
    """Its name; empty until it has answered."""
    leases: dict[Any, Lease] = field(default_factory=dict)
    """Its leases by the reference to the shard."""


class RayWorkers:
    """The workers of a run on a Ray cluster, see `Workers`."""

    plays_here = False

    def __init__(self, in_flight: int, backend: str, config: WorkersConfig) -> None:
        """Begin without actors; `connect` comes first.

        Args:
            in_flight: games that a worker plays at the same time.
            backend: evaluator backend, see `load_evaluator`.
            config: settings of the workers.
        """
        self.heartbeats: dict[str, Heartbeat] = {}
        self._ray, self._config, self._in_flight = import_ray(), config, in_flight
        self._arguments = (ckai_version(), backend, config.cpus_per_worker)
        self._actors: list[_Actor] = []
        self._ledger: Ledger | None = None
        self._make_setup: Callable[[int], WorkerSetup] | None = None
        self._setups: dict[int, Any] = {}
        self._looked, self._failures = 0.0, 0
        self._lock = threading.RLock()  # a match is played while the next generation is

    def begin(self, ledger: Ledger, setup_of: Callable[[int], WorkerSetup]) -> list[str]:
        """See `Workers`.

        Raises:
            RayError: the networks do not fit into the object store.
        """
        with self._lock:
            self._ledger, self._make_setup = ledger, setup_of
            # Frees the networks that nobody plays with any more.
            self._setups = {n: kept for n, kept in self._setups.items() if n == ledger.generation}
            self._setup_of(ledger.generation)
        return []

    def exchange(self, ledger: Ledger) -> list[str]:
        """See `Workers`.

        Raises:
            RayError: no worker can play.
        """
        warnings = list[str]()
        with self._lock:
            for actor in list(self._actors):
                warnings += self._commit(actor, ledger)
            warnings += self._tend()
            for _ in range(LEASES):
                for actor in self._actors:
                    if actor.name and len(actor.leases) < LEASES:
                        self._lease(actor, ledger)
        return warnings

    def end(self) -> None:
        """See `Workers`; what comes of this generation from now on is refused."""

    def close(self) -> None:
        """End the actors and the connection, with it a cluster that was started here."""
        with self._lock:
            for actor in self._actors:
                self._ray.kill(actor.handle)
            self._actors, self._setups, self.heartbeats = [], {}, {}
            self._ray.shutdown()

    def _setup_of(self, generation: int) -> Any:
        """Return the reference to the setup of a generation, the only copy of its networks."""
        assert self._make_setup is not None, "a generation has begun"
        if generation not in self._setups:
            try:
                self._setups[generation] = self._ray.put(self._make_setup(generation))
            except self._ray.exceptions.RayError as error:
                raise RayError(
                    f"expected room for the networks in Ray's object store, found {type(error).__name__}; "
                    "start the cluster with more --object-store-memory, or give --ray local a larger "
                    "--store-mb"
                ) from error
        return self._setups[generation]

    # --- actors ---------------------------------------------------------------------------------------

    def _tend(self) -> list[str]:
        """Follow the nodes of the cluster, and listen to the actors; return warnings."""
        now = time.monotonic()
        if now - self._looked > NODES_SECONDS:
            self._looked = now
            self._follow_nodes(now)
        return [line for actor in list(self._actors) for line in self._listen(actor, now)]

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

    def _follow_nodes(self, now: float) -> None:
        """Make actors for nodes that joined, and let those go that have no node."""
        room, config = sum(count for _, count in self.room()), self._config
        for actor in [actor for actor in self._actors if not actor.name]:
            if len(self._actors) > room:
                self._drop(actor)
        while len(self._actors) < room:
            handle = (
                self._ray.remote(WorkerActor)
                .options(
                    num_cpus=config.cpus_per_worker,
                    num_gpus=config.gpus_per_worker,
                    max_restarts=-1,
                    max_task_retries=0,
                    max_concurrency=LEASES + 1,  # the heartbeats
                    scheduling_strategy="SPREAD",
                )
                .remote(*self._arguments)
            )
            self._actors.append(_Actor(handle, handle.heartbeat.remote(), now))

    def _drop(self, actor: _Actor) -> None:
        self._ray.kill(actor.handle)
        self._actors.remove(actor)
        self.heartbeats.pop(actor.name, None)

    def _lost(self, actor: _Actor) -> None:
        """Take back the leases of an actor; until it answers again it gets no others."""
        for lease in actor.leases.values():
            if self._ledger is not None:
                self._ledger.take_back(lease.name)
        actor.leases = {}
        self.heartbeats.pop(actor.name, None)
        actor.name = ""

    def _lease(self, actor: _Actor, ledger: Ledger) -> None:
        lease = ledger.lease(lease_size(ledger.waiting, len(self._actors), self._in_flight))
        if lease is not None:
            setup = self._setup_of(lease.generation)
            actor.leases[actor.handle.play.remote([setup], lease)] = lease

    def _commit(self, actor: _Actor, ledger: Ledger) -> list[str]:
        """Commit the shards that an actor has finished; its leases go back where that fails."""
        if not actor.leases:
            return []
        warnings = []
        ready, _ = self._ray.wait(list(actor.leases), num_returns=len(actor.leases), timeout=0)
        for reference in ready:
            lease = actor.leases.pop(reference, None)
            name = "" if lease is None else lease.name  # taken back when the one before failed
            try:
                ledger.commit(self._ray.get(reference))
                self._failures = 0
            except ShardError as error:
                if name in ledger.leases:
                    warnings.append(
                        f"worker {actor.name}: shard refused: {error}; its games are played again"
                    )
                ledger.take_back(name)
            except self._ray.exceptions.RayTaskError as error:
                ledger.take_back(name)
                warnings.append(f"worker {actor.name}: {reason_of(error)}; its games are played again")
                self._failures += 1
                if self._failures >= MAX_FAILURES:
                    raise RayError(f"no worker can play: {reason_of(error)}") from error
            except self._ray.exceptions.RayError as error:
                ledger.take_back(name)
                who = f"worker {actor.name or 'of a lost node'}"
                warnings.append(f"{who}: {type(error).__name__}; its games are played again")
                self._lost(actor)
        return warnings

    def _listen(self, actor: _Actor, now: float) -> list[str]:
        """Take the heartbeat of an actor, and let an actor go that sends none."""
        if actor.heartbeat is None:
            if now - actor.heard > HEARTBEAT_SECONDS:
                actor.heartbeat, actor.heard = actor.handle.heartbeat.remote(), now
            return []
        ready, _ = self._ray.wait([actor.heartbeat], timeout=0)
        if ready:
            actor.heartbeat = None
            try:
                name, heartbeat = self._ray.get(ready[0])
            except self._ray.exceptions.RayError as error:
                was_there = bool(actor.name)
                self._lost(actor)
                if isinstance(error, self._ray.exceptions.ActorUnavailableError):
                    actor.heard = now  # it restarts
                    return []
                self._drop(actor)
                if isinstance(error, self._ray.exceptions.ActorDiedError) and "WorkerError" in str(error):
                    raise RayError(reason_of(error)) from error
                return [f"worker lost: {type(error).__name__}"] if was_there else []
            if actor.name != name:
                self.heartbeats.pop(actor.name, None)
            actor.name, actor.heard, self.heartbeats[name] = name, now, heartbeat
        elif actor.name and now - actor.heard > self._config.lease_timeout:
            name, silence = actor.name, self._config.lease_timeout
            self._lost(actor)
            self._drop(actor)
            return [f"worker {name}: no heartbeat for {silence:g} s; its games are played again"]
        return []
