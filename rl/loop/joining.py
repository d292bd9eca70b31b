"""Joining a run: play games for it in another process that sees its folder."""

import threading
from collections.abc import Callable
from pathlib import Path

from ckai.rl.loop.run import Run
from ckai.rl.search.threads import repeated
from ckai.rl.workers.folder import Deliveries
from ckai.rl.workers.worker import TICK_SECONDS, Worker


def join(
    folder: Path,
    *,
    backend: str = "auto",
    threads: int = 1,
    on_progress: Callable[[Worker], None] = lambda worker: None,
    stop: threading.Event | None = None,
) -> Worker:
    """Play games for a run until it has all its generations.

    Args:
        folder: folder of the run, on this machine or mounted.
        backend: evaluator backend, see `load_evaluator`.
        threads: threads that play.
        on_progress: called every `TICK_SECONDS`.
        stop: set it to end early; games in progress are dropped.

    Returns:
        The worker, with what it has done.

    Raises:
        RunError: the folder is not a run, or is of another version.
        WorkerError: the run's process has another version of ckai.
        CheckpointError: a network cannot be loaded.
        WriteError: the folder cannot be written.
    """
    run, deliveries, over = Run.open(folder), Deliveries(folder), stop or threading.Event()

    def look() -> int | None:
        deliveries.check_version()
        if 0 < run.target <= run.generations:
            over.set()
        return run.playing

    worker = Worker(
        deliveries.name, look, run.worker_setup, deliveries.leave, backend=backend, threads=threads
    )
    with repeated(lambda: on_progress(worker), TICK_SECONDS, over):
        worker.run(over)
    return worker
