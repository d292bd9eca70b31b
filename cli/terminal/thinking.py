"""Waiting for a search: Ctrl-C means "move now", and a second one within a second leaves."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")

TWICE_SECONDS = 1.0
"""Time within which a second Ctrl-C leaves the game."""
POLL_SECONDS = 0.05


def wait_for(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run `work` in a thread and return its result.

    Args:
        work: a search.
        stop: makes `work` return soon, also if it has only begun.

    Raises:
        KeyboardInterrupt: a second Ctrl-C within `TWICE_SECONDS`; the search was stopped.
        Exception: whatever `work` raised.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    thread = threading.Thread(target=run, name="ckai-play", daemon=True)
    begun, pressed = False, None
    while not done.done():
        try:
            if not begun:
                begun = True
                thread.start()
            wait([done], POLL_SECONDS)
        except KeyboardInterrupt:
            now = time.monotonic()
            stop()
            if pressed is not None and now - pressed <= TWICE_SECONDS:
                wait([done], TWICE_SECONDS)
                raise
            pressed = now
    thread.join()
    return done.result()
