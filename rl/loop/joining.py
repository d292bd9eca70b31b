"""Joining a run: play games for it in another process that sees its folder."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

from ckai.rl.leases.folder import BEAT_SECONDS, LeaseDesk
from ckai.rl.leases.lease import Lease
from ckai.rl.leases.worker import LEASES, LeaseWorker, Orders, WorkerError
from ckai.rl.leases.workers import Sign
from ckai.rl.loop.run import Run
from ckai.rl.search.threads import run_all

LOOK_SECONDS = 0.5
"""Time between two looks for an open lease."""


def join(
    folder: Path,
    *,
    backend: str = "fastest",
    threads: int = 1,
    on_report: Callable[[str], None] = lambda line: None,
    on_sign: Callable[[Sign], None] = lambda sign: None,
    stop: threading.Event | None = None,
) -> Sign:
    """Play games for a run until it has all its generations.

    Args:
        folder: folder of the run, on this machine or mounted.
        backend: evaluator backend, see `load_evaluator`; `fastest` is tried on this machine.
        threads: threads that play.
        on_report: called with the report of the trial of the backends.
        on_sign: called with every sign of life.
        stop: set it to end early; games in progress are dropped, and their leases are put back.

    Returns:
        The last sign of life.

    Raises:
        RunError: the folder is not a run, or is of another version.
        WorkerError: a network cannot be loaded; the lease was put back.
        WriteError: the folder cannot be written.
    """
    Run.open(folder)
    desk, stop = LeaseDesk(folder), stop or threading.Event()

    def orders(lease: Lease) -> Orders:
        try:
            return Run.open(folder).orders(lease.generation)
        except OSError as error:
            raise WorkerError(
                f"{folder}: expected the network of generation {lease.generation}, cannot read it "
                f"({error.strerror}); check that this machine sees the whole folder"
            ) from error

    def finished() -> bool:
        run = Run.open(folder)
        return 0 < run.target <= run.generations

    worker = LeaseWorker(desk.name, orders, backend=backend, threads=threads, on_report=on_report)
    sign = Sign(threads=threads)

    def work() -> None:
        try:
            while not stop.is_set():
                lease = desk.take()
                if lease is None:
                    stop.wait(LOOK_SECONDS)
                else:
                    desk.deliver(lease, worker.play(lease))
        except Exception:
            if not stop.is_set():
                raise

    def live() -> None:
        """Give signs of life until the run is finished."""
        evaluations, then = 0, time.monotonic()
        while not stop.wait(BEAT_SECONDS):
            now, progress = time.monotonic(), worker.progress
            sign.games = progress.games
            sign.evaluations_per_second = round((progress.evaluations - evaluations) / (now - then), 1)
            sign.evaluator = worker.evaluator
            evaluations, then = progress.evaluations, now
            desk.beat(sign)
            on_sign(sign)
            if finished():
                stop.set()

    def end() -> None:
        """Stop the games in progress once `stop` is set, so that the threads that wait for them end."""
        stop.wait()
        worker.close()

    try:
        run_all([*[work] * LEASES, live, end], stop, name="joining")
    finally:
        desk.leave(over=finished())
    return sign
