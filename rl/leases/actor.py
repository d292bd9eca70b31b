"""The actor of a worker on Ray: plays leases of a run on a node."""

import os
import socket
import time
from typing import Any

from ckai.rl.leases.cluster import import_ray
from ckai.rl.leases.lease import Lease, ckai_version
from ckai.rl.leases.worker import LeaseWorker, WorkerError, WorkerSetup
from ckai.rl.leases.workers import Heartbeat


class WorkerActor:
    """The actor: a `LeaseWorker` on a node."""

    def __init__(self, version: str, backend: str, threads: int) -> None:
        mine = ckai_version()
        if mine != version:
            raise WorkerError(
                f"{socket.gethostname()}: expected ckai {version} as in the run's process, found {mine}; "
                "install the same version on all nodes"
            )
        self._ray, self._setups = import_ray(), dict[str, Any]()
        self._worker = LeaseWorker(
            f"{socket.gethostname()}-{os.getpid()}",
            self._load,
            backend=backend,
            threads=threads,
        )
        self._heartbeat, self._then, self._evaluations = Heartbeat(threads=threads), time.monotonic(), 0

    def play(self, setup: list[Any], lease: Lease) -> bytes:
        """Play a lease; `setup` has the reference to its `WorkerSetup`."""
        self._setups[lease.name] = setup[0]
        try:
            return self._worker.play(lease)
        finally:
            del self._setups[lease.name]

    def heartbeat(self) -> tuple[str, Heartbeat]:
        """Return the worker's name and its heartbeat."""
        progress, now = self._worker.progress, time.monotonic()
        evaluations = progress.evaluations
        rate = (evaluations - self._evaluations) / max(1e-3, now - self._then)
        self._then, self._evaluations = now, evaluations
        self._heartbeat = Heartbeat(
            self._heartbeat.count + 1,
            progress.games,
            round(rate, 1),
            self._heartbeat.threads,
            self._worker.evaluator,
        )
        return self._worker.name, self._heartbeat

    def _load(self, lease: Lease) -> WorkerSetup:
        setup: WorkerSetup = self._ray.get(self._setups[lease.name])
        return setup
