"""One search at a time over the whole server: what waits, what gives way, and how a search is stopped."""

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum

from ckai.rl.engine.base import Stop


class Priority(IntEnum):
    """What goes first: lower numbers. An analysis gives way to everything, also to a newer one."""

    MOVE = 0
    QUESTION = 1
    ANALYSIS = 2


class Job:
    """A search that waits for its turn, runs or has ended.

    Args:
        priority: what goes first.
        work: searches with `stop`, and sees to its errors. An analysis that returns while it is `interrupted`
            is called again later, unless it is `cancelled`.
    """

    def __init__(self, priority: Priority, work: Callable[["Job"], None]) -> None:
        self.priority, self.work, self.stop = priority, work, Stop()
        self.cancelled = self.interrupted = False

    def interrupt(self) -> None:
        """End the run in progress soon."""
        self.interrupted = True
        with suppress(Exception):  # of a program that has died: its search ends with that error
            self.stop.set()


class Searches:
    """Runs jobs one at a time in a thread."""

    def __init__(self) -> None:
        self._changed, self._order = threading.Condition(), itertools.count()
        self._waiting: list[tuple[int, int, Job]] = []
        self._running: Job | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="ckai-board-search", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Put a job in its place; an analysis that runs gives way to it."""
        with self._changed:
            self._waiting.append((job.priority, next(self._order), job))
            if self._running is not None and self._running.priority == Priority.ANALYSIS:
                self._running.interrupt()
            self._changed.notify_all()

    def cancel(self, job: Job) -> None:
        """End a job soon. May be called again."""
        with self._changed:
            job.cancelled = True
            self._waiting = [each for each in self._waiting if each[2] is not job]
            job.interrupt()

    def close(self, seconds: float = 2.0) -> None:
        """End all jobs, and wait until the one that runs has ended, but not longer than `seconds`."""
        with self._changed:
            self._closed, self._waiting, running = True, [], self._running
            self._changed.notify_all()
        if running is not None:
            self.cancel(running)
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                self._waiting.sort(key=lambda each: each[:2])
                self._running = job = self._waiting.pop(0)[2]
                job.interrupted, job.stop = False, Stop()
            job.work(job)
            with self._changed:
                self._running = None
                if job.interrupted and not job.cancelled and job.priority == Priority.ANALYSIS:
                    self._waiting.append((job.priority, next(self._order), job))
