"""Threads that do the work of a run or a match."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


@contextmanager
def running(threads: Sequence[threading.Thread], stop: threading.Event) -> Iterator[None]:
    """Start threads, and wait behind the block until all have ended.

    An error in the block or an interruption sets `stop` and waits for them.
    """
    for thread in threads:
        thread.start()
    try:
        yield
        for thread in threads:
            while thread.is_alive():
                thread.join(0.2)  # wakes up for Ctrl-C
    except BaseException:
        stop.set()
        for thread in threads:
            thread.join()
        raise


def run_all(threads: Sequence[threading.Thread], stop: threading.Event) -> None:
    """Start threads and wait until all have ended; see `running`."""
    with running(threads, stop):
        pass
