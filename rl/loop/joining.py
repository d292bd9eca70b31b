"""Joining a run: play games for it in another process that sees its folder."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from ckai.rl.leases.folder import LeaseClient
from ckai.rl.leases.lease import Lease
from ckai.rl.leases.worker import LEASES, LeaseWorker, WorkerError, WorkerSetup
from ckai.rl.leases.workers import HEARTBEAT_SECONDS, Heartbeat
from ckai.rl.loop.run import Run
from ckai.rl.search.threads import run_all

LOOK_SECONDS = 0.5
"""Time between two looks for an open lease."""
SEEN_SECONDS = 120.0
"""Time after which this machine sees what another one has written: network file systems cache folders."""


def join(
    folder: Path,
    *,
    backend: str = "auto",
    threads: int = 1,
    on_heartbeat: Callable[[Heartbeat], None] = lambda heartbeat: None,
    stop: threading.Event | None = None,
) -> Heartbeat:
    """Play games for a run until it has all its generations.

    Args:
        folder: folder of the run, on this machine or mounted.
        backend: evaluator backend, see `load_evaluator`.
        threads: threads that play.
        on_heartbeat: called with every heartbeat that was sent.
        stop: set it to end early; games in progress are dropped, and their leases are put back.

    Returns:
        The last heartbeat.

    Raises:
        RunError: the folder is not a run, or is of another version.
        WorkerError: a network cannot be loaded; the lease was put back.
        WriteError: the folder cannot be written.
    """
    Run.open(folder)
    client, stop = LeaseClient(folder), stop or threading.Event()

    def setup_of(lease: Lease) -> WorkerSetup:
        waiting_until = time.monotonic() + SEEN_SECONDS
        while not Run.open(folder).has_players(lease.generation):
            if time.monotonic() > waiting_until or stop.wait(LOOK_SECONDS):
                raise WorkerError(
                    f"{folder}: expected the generations before {lease.generation} to be finished, found one "
                    "that is not; check that this machine sees the whole folder"
                )
        try:
            return Run.open(folder).worker_setup(lease.generation)
        except OSError as error:
            raise WorkerError(
                f"{folder}: expected the network of generation {lease.generation}, cannot read it "
                f"({error.strerror}); check that this machine sees the whole folder"
            ) from error

    def finished() -> bool:
        run = Run.open(folder)
        return 0 < run.target <= run.generations

    worker = LeaseWorker(client.name, setup_of, backend=backend, threads=threads)
    heartbeat = Heartbeat(threads=threads)

    def work() -> None:
        try:
            while not stop.is_set():
                lease = client.take()
                if lease is None:
                    stop.wait(LOOK_SECONDS)
                else:
                    client.deliver(lease, worker.play(lease))
        except Exception:
            if not stop.is_set():
                raise

    def live() -> None:
        """Send heartbeats until the run is finished."""
        evaluations, then = 0, time.monotonic()
        while not stop.wait(HEARTBEAT_SECONDS):
            now, progress = time.monotonic(), worker.progress
            heartbeat.games = progress.games
            heartbeat.evaluations_per_second = round((progress.evaluations - evaluations) / (now - then), 1)
            heartbeat.evaluator = worker.evaluator
            evaluations, then = progress.evaluations, now
            client.send(heartbeat)
            on_heartbeat(heartbeat)
            if finished():
                stop.set()

    def end() -> None:
        """Stop the games in progress once `stop` is set, so that the threads that wait for them end."""
        stop.wait()
        worker.close()

    try:
        run_all([*[work] * LEASES, live, end], stop, name="joining")
    finally:
        client.leave(over=finished())
    return heartbeat
