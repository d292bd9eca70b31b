"""Waiting for a search: Ctrl-C means "move now", and a second one within a second leaves."""

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

TWICE_SECONDS = 1.0
"""Time within which a second Ctrl-C leaves the game."""
POLL_SECONDS = 0.05


class _Work(threading.Thread, Generic[T]):
    def __init__(self, work: Callable[[], T]) -> None:
        super().__init__(name="ckai-play", daemon=True)
        self.work, self.done = work, threading.Event()
        self.results: list[T] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.results.append(self.work())
        except BaseException as error:
            self.error = error
        finally:
            self.done.set()


def wait_for(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run `work` in a thread and return its result.

    Args:
        work: a search.
        stop: makes `work` return soon; called repeatedly after Ctrl-C, until it has.

    Raises:
        KeyboardInterrupt: a second Ctrl-C within `TWICE_SECONDS`; the search was stopped.
        Exception: whatever `work` raised.
    """
    thread = _Work(work)
    begun = False
    pressed: float | None = None
    while not thread.done.is_set():
        try:
            if not begun:
                begun = True
                thread.start()
            thread.done.wait(POLL_SECONDS)
            if pressed is not None:
                stop()
        except KeyboardInterrupt:
            now = time.monotonic()
            stop()
            if pressed is not None and now - pressed <= TWICE_SECONDS:
                thread.done.wait(TWICE_SECONDS)
                raise
            pressed = now
    thread.join()
    if thread.error is not None:
        raise thread.error
    return thread.results[0]
