"""One search at a time over the whole server: what waits, what gives way, and how a search is stopped.

A search of a player whose turn it is goes before all others; an analysis gives way to everything and goes on
afterwards.
"""

import itertools
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum

from ckai.rl.engine.base import Stop


class Priority(IntEnum):
    """What goes first: lower numbers."""

    MOVE = 0
    """A player's move."""
    QUESTION = 1
    """A single answer, such as a hint."""
    CURVE = 2
    """The values of a whole game."""
    ANALYSIS = 3
    """A search without an end."""


class Job:
    """A search that waits for its turn, runs or has ended.

    Args:
        priority: what goes first.
        work: searches with `stop` and looks at `interrupted` between its steps. If it returns while
            `interrupted`, it is called again later, unless the job was cancelled.
        preemptible: whether a job of a higher priority, or a newer analysis, interrupts it.
        on_end: what its end leads to, in the event loop of the server.
    """

    def __init__(
        self,
        priority: Priority,
        work: Callable[["Job"], None],
        *,
        preemptible: bool = False,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self.priority, self.preemptible, self.on_end = priority, preemptible, on_end
        self._work = work
        self.stop = Stop()
        """Ends the search in progress, or the next one; a new one for each run."""
        self.cancelled = False
        """Whether it is to end for good."""
        self.interrupted = False
        """Whether it is to end now."""
        self.ended = threading.Event()
        self.error: Exception | None = None

    def interrupt(self) -> None:
        """End the run in progress soon."""
        self.interrupted = True
        with suppress(Exception):  # of a program that has died: its search ends with that error
            self.stop.set()

    def run(self) -> bool:
        """Run the work; return whether it has ended for good."""
        try:
            self._work(self)
        except Exception as error:
            self.error = error
            return True
        return self.cancelled or not self.interrupted


class SearchScheduler:
    """Runs jobs one at a time in a thread.

    Args:
        on_end: called in that thread with every job that has ended, also with cancelled ones that never ran.
    """

    def __init__(self, on_end: Callable[[Job], None]) -> None:
        self._on_end = on_end
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, int, Job]] = []
        self._order = itertools.count()
        self._running: Job | None = None
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="ckai-board-search", daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> Job:
        """Put a job in its place; what runs gives way to it if it may, an analysis also to a newer one."""
        with self._changed:
            self._waiting.append((job.priority, next(self._order), job))
            running = self._running
            newer = job.priority == Priority.ANALYSIS  # otherwise it would wait for one without an end
            if running is not None and running.preemptible and (running.priority > job.priority or newer):
                running.interrupt()
            self._changed.notify_all()
        return job

    def cancel(self, job: Job) -> None:
        """End a job soon; its results so far are still sent. May be called again."""
        with self._changed:
            job.cancelled = True
            job.interrupt()
            waiting = [each for each in self._waiting if each[2] is job]
            self._waiting = [each for each in self._waiting if each[2] is not job]
            self._changed.notify_all()
        if waiting:
            self._finish(job)

    def close(self, seconds: float = 2.0) -> None:
        """Cancel all jobs, and wait until the one that runs has ended, but not longer than `seconds`."""
        with self._changed:
            self._closed = True
            jobs = [job for _, _, job in self._waiting]
            if self._running is not None:
                jobs.append(self._running)
        for job in jobs:
            self.cancel(job)
        with self._changed:
            self._changed.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                self._waiting.sort(key=lambda each: each[:2])
                job = self._waiting.pop(0)[2]
                job.interrupted, job.stop = False, Stop()
                self._running = job
            over = job.run()
            with self._changed:
                self._running = None
                if not over and not job.cancelled:
                    self._waiting.append((job.priority, next(self._order), job))
                self._changed.notify_all()
            if over or job.cancelled:
                self._finish(job)

    def _finish(self, job: Job) -> None:
        job.ended.set()
        self._on_end(job)
