"""Leases on Ray: workers are actors on the nodes of a cluster.

The process of the run owns everything: the leases, the only copy of a generation's networks that it puts
into the object store, and the actors, which end with it. An actor has at most `LEASES` leases, so no shards
queue up. Whatever Ray reports of an actor, its leases go back; actors restart, and new ones are made as nodes
join.
"""

import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ckai.rl.leases.config import WorkersConfig
from ckai.rl.leases.lease import Lease, ckai_version
from ckai.rl.leases.ledger import Ledger, lease_size
from ckai.rl.leases.worker import LEASES, LeaseWorker, Orders, WorkerError
from ckai.rl.leases.workers import Sign
from ckai.rl.selfplay.shards import ShardError

LEAST_VERSION = (2, 60)
"""Oldest version of Ray that is supported."""
LOCAL = "local"
"""Address of a cluster of this machine alone, which is started and ended."""
AUTO = "auto"
"""Address of the cluster that runs on this machine."""
KNOCK_SECONDS = 5.0
"""Time for a cluster to answer."""
SIGN_SECONDS = 2.0
"""Time between two signs of life of a worker."""
NODES_SECONDS = 2.0
"""Time between two looks for nodes that joined or left."""
MOST_FAILURES = 3
"""Failed leases in a row, of all workers together, after which the run ends."""


class RayError(RuntimeError):
    """Ray cannot be used; one line that says what was expected and found."""


def import_ray() -> Any:
    """Import Ray.

    Raises:
        RayError: it is not installed, or too old.
    """
    try:
        import ray
    except ImportError as error:
        raise RayError(
            f"expected Ray {'.'.join(map(str, LEAST_VERSION))} or newer for --ray, found none ({error}); "
            "pip install 'ckai[ray]', or omit --ray"
        ) from error
    if tuple(map(int, ray.__version__.split(".")[:2])) < LEAST_VERSION:
        raise RayError(
            f"expected Ray {'.'.join(map(str, LEAST_VERSION))} or newer, found {ray.__version__}; "
            "pip install --upgrade 'ckai[ray]'"
        )
    return ray


def connect(address: str, config: WorkersConfig) -> None:
    """Connect to a cluster, or start one on this machine.

    Args:
        address: `local`, `auto` for the cluster that runs on this machine, or host:port.
        config: settings of the workers.

    Raises:
        RayError: Ray is missing, there is no such cluster, or it has another version of Ray or Python.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Ray prints the log of every node that goes on standard output, `log_to_driver` or not: print no line.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    options: dict[str, Any] = {}
    if address == LOCAL:
        # Ray listens on all addresses of the machine; whoever connects needs this token.
        if os.environ.setdefault("RAY_AUTH_MODE", "token") == "token":
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        cores = config.cpus_per_worker * (
            config.count or max(1, (os.cpu_count() or 1) // config.cpus_per_worker)
        )
        options = {"num_cpus": cores, "object_store_memory": config.store_mb * 2**20}
        options["include_dashboard"] = False
    ray = import_ray()
    try:
        if address not in (LOCAL, AUTO):
            _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise RayError(
            f"--ray {address}: expected a cluster of Ray {ray.__version__}, found none that answers "
            f"({reason[:300]}); start one with `ray start --head`, or give --ray local"
        ) from error


def _knock(address: str) -> None:
    """Try to connect to host:port, for which Ray itself would wait for minutes.

    Raises:
        OSError, ValueError: nobody answers, or it is no such text.
    """
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ValueError("not host:port")
    socket.create_connection((host, int(port)), KNOCK_SECONDS).close()


class _Player:
    """The actor: a `LeaseWorker` on a node."""

    def __init__(self, version: str, backend: str, threads: int) -> None:
        mine = ckai_version()
        if mine != version:
            raise WorkerError(
                f"{socket.gethostname()}: expected ckai {version} as in the run's process, found {mine}; "
                "install the same version on all nodes"
            )
        self._ray, self._orders, self._report = import_ray(), dict[str, Any](), ""
        self._worker = LeaseWorker(
            f"{socket.gethostname()}-{os.getpid()}",
            self._load,
            backend=backend,
            threads=threads,
            tell=self._tell,
        )
        self._sign, self._then, self._evaluations = Sign(threads=threads), time.monotonic(), 0

    def play(self, orders: list[Any], lease: Lease) -> bytes:
        """Play a lease; `orders` has the reference to its `Orders`."""
        self._orders[lease.network] = orders[0]
        return self._worker.play(lease)

    def sign(self) -> tuple[str, Sign, str]:
        """Return the worker's name, its sign of life, and the report of the trial of backends."""
        progress, now = self._worker.progress, time.monotonic()
        evaluations = progress.evaluations
        rate = (evaluations - self._evaluations) / max(1e-3, now - self._then)
        self._then, self._evaluations = now, evaluations
        self._sign = Sign(
            self._sign.beat + 1, progress.games, round(rate, 1), self._sign.threads, self._worker.evaluator
        )
        return self._worker.name, self._sign, self._report

    def _load(self, lease: Lease) -> Orders:
        orders: Orders = self._ray.get(self._orders[lease.network])
        self._orders = {lease.network: self._orders[lease.network]}
        return orders

    def _tell(self, line: str) -> None:
        self._report = line


@dataclass
class _Actor:
    """An actor, as its owner sees it."""

    handle: Any
    sign: Any
    """Reference to the answer of `_Player.sign` that is awaited, None between two."""
    heard: float
    """When it last answered."""
    name: str = ""
    """Its name; empty until it has answered."""
    leases: dict[Any, str] = field(default_factory=dict)
    """Name of the lease by the reference to its shard."""


class RayWorkers:
    """The workers of a run on a Ray cluster, see `Workers`."""

    plays_here = False

    def __init__(self, in_flight: int, backend: str, config: WorkersConfig) -> None:
        """Begin without actors; `connect` comes first.

        Args:
            in_flight: games that a worker plays at the same time.
            backend: evaluator backend, see `load_evaluator`; each worker tries `fastest` for itself.
            config: settings of the workers.
        """
        self.signs: dict[str, Sign] = {}
        self._ray, self._config, self._in_flight = import_ray(), config, in_flight
        self._arguments = (ckai_version(), backend, config.cpus_per_worker)
        self._actors: list[_Actor] = []
        self._orders: Any = None
        self._looked, self._failures = 0.0, 0
        self._told = set[str]()

    def begin(self, ledger: Ledger, orders: Callable[[], Orders]) -> list[str]:
        """See `Workers`.

        Raises:
            RayError: the networks do not fit into the object store.
        """
        self._orders = None  # frees the networks of the generation before
        try:
            self._orders = self._ray.put(orders())
        except self._ray.exceptions.RayError as error:
            raise RayError(
                f"expected room for the networks in Ray's object store, found {type(error).__name__}; start "
                "the cluster with more --object-store-memory, or give --ray local a larger --store-mb"
            ) from error
        return []

    def exchange(self, ledger: Ledger) -> list[str]:
        """See `Workers`.

        Raises:
            RayError: no worker can play.
        """
        now, warnings = time.monotonic(), list[str]()
        if now - self._looked > NODES_SECONDS:
            self._looked = now
            self._follow_nodes(now)
        for actor in list(self._actors):
            warnings += self._commit(actor, ledger)
            warnings += self._listen(actor, ledger, now)
        for _ in range(LEASES):
            for actor in self._actors:
                if actor.name and len(actor.leases) < LEASES:
                    self._lease(actor, ledger)
        return warnings

    def end(self) -> None:
        """See `Workers`; what comes of this generation from now on is refused."""

    def close(self) -> None:
        """End the actors and the connection, with it a cluster that was started here."""
        for actor in self._actors:
            self._ray.kill(actor.handle)
        self._actors, self._orders, self.signs = [], None, {}
        self._ray.shutdown()

    # --- actors ---------------------------------------------------------------------------------------

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
                self._ray.remote(_Player)
                .options(
                    num_cpus=config.cpus_per_worker,
                    num_gpus=config.gpus_per_worker,
                    max_restarts=-1,
                    max_task_retries=0,
                    max_concurrency=LEASES + 1,
                    scheduling_strategy="SPREAD",
                )
                .remote(*self._arguments)
            )
            self._actors.append(_Actor(handle, handle.sign.remote(), now))

    def _drop(self, actor: _Actor) -> None:
        self._ray.kill(actor.handle)
        self._actors.remove(actor)
        self.signs.pop(actor.name, None)

    def _lost(self, actor: _Actor, ledger: Ledger) -> None:
        """Take back the leases of an actor; until it answers again it gets no others."""
        for name in actor.leases.values():
            ledger.take_back(name)
        actor.leases = {}
        self.signs.pop(actor.name, None)
        actor.name = ""

    def _lease(self, actor: _Actor, ledger: Ledger) -> None:
        lease = ledger.lease(lease_size(ledger.waiting, len(self._actors), self._in_flight))
        if lease is not None:
            actor.leases[actor.handle.play.remote([self._orders], lease)] = lease.name

    def _commit(self, actor: _Actor, ledger: Ledger) -> list[str]:
        """Commit the shards that an actor has finished; its leases go back where that fails."""
        if not actor.leases:
            return []
        warnings = []
        ready, _ = self._ray.wait(list(actor.leases), num_returns=len(actor.leases), timeout=0)
        for reference in ready:
            name = actor.leases.pop(reference, "")
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
                if self._failures >= MOST_FAILURES:
                    raise RayError(f"no worker can play: {reason_of(error)}") from error
            except self._ray.exceptions.RayError as error:
                ledger.take_back(name)
                who = f"worker {actor.name or 'of a lost node'}"
                warnings.append(f"{who}: {type(error).__name__}; its games are played again")
                self._lost(actor, ledger)
        return warnings

    def _listen(self, actor: _Actor, ledger: Ledger, now: float) -> list[str]:
        """Take the sign of life of an actor, and let an actor go that gives none."""
        if actor.sign is None:
            if now - actor.heard > SIGN_SECONDS:
                actor.sign = actor.handle.sign.remote()
            return []
        ready, _ = self._ray.wait([actor.sign], timeout=0)
        if ready:
            actor.sign = None
            try:
                name, sign, report = self._ray.get(ready[0])
            except self._ray.exceptions.RayError as error:
                was_there = bool(actor.name)
                self._lost(actor, ledger)
                if isinstance(error, self._ray.exceptions.ActorUnavailableError):
                    actor.heard = now  # it restarts
                    return []
                self._drop(actor)
                if isinstance(error, self._ray.exceptions.ActorDiedError) and "WorkerError" in str(error):
                    raise RayError(reason_of(error)) from error
                return [f"worker lost: {type(error).__name__}"] if was_there else []
            if actor.name != name:
                self.signs.pop(actor.name, None)
            actor.name, actor.heard, self.signs[name] = name, now, sign
            if report and report not in self._told:
                self._told.add(report)
                return [f"{name}: {report}"]
        elif actor.name and now - actor.heard > self._config.lease_timeout:
            name, silence = actor.name, self._config.lease_timeout
            self._lost(actor, ledger)
            self._drop(actor)
            return [f"worker {name}: no sign of life for {silence:g} s; its games are played again"]
        return []


def reason_of(error: BaseException) -> str:
    """Return what a remote error says, in one line and without the traceback."""
    cause = getattr(error, "cause", None) or error
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    named = [line for line in lines if "Error: " in line]
    return (named or lines or [type(cause).__name__])[-1].rpartition("Error: ")[2]
