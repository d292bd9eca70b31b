"""Joining a run: play games for it in another process that sees its folder."""

import threading
from collections.abc import Callable
from pathlib import Path

from ckai.rl.run.run import Run
from ckai.rl.run.worker import TICK_SECONDS, Worker
from ckai.rl.search.threads import repeated
from ckai.rl.selfplay.shards import ckai_version, own_name


def join(
    folder: Path,
    *,
    backend: str = "auto",
    threads: int = 1,
    on_gpu: bool = False,
    on_progress: Callable[[Worker], None] = lambda worker: None,
    stop: threading.Event | None = None,
) -> Worker:
    """Play games for a run until it has all its generations.

    Args:
        folder: folder of the run, on this machine or mounted.
        backend: evaluator backend, see `load_evaluator`.
        threads: threads that play.
        on_gpu: have as many games in flight as a GPU wants.
        on_progress: called every `TICK_SECONDS`.
        stop: set it to end early; games in progress are dropped.

    Returns:
        The worker, with what it has done.

    Raises:
        RunError: the folder is not a run, or is of another version.
        RuntimeError: the run's process has another version of ckai.
        CheckpointError: a network cannot be loaded.
        WriteError: the folder cannot be written.
    """
    run, over = Run.open(folder), stop or threading.Event()

    def latest() -> int | None:
        asked = run.asked()
        if (found := asked.get("version", ckai_version())) != ckai_version():
            raise RuntimeError(
                f"expected ckai {found} as in the run's process, found {ckai_version()}; install the same "
                "version on all machines"
            )
        done = run.generations
        if 0 < run.target <= done:
            over.set()
        return done if asked else None

    config = run.config.for_gpu() if on_gpu else run.config
    worker = run.worker(own_name(), config=config, latest=latest, backend=backend, threads=threads)
    with repeated(lambda: on_progress(worker), TICK_SECONDS, over):
        worker.run(over)
    return worker
