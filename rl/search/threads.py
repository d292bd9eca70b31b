"""Starting worker threads and waiting for them, with a clean end on errors and Ctrl-C."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ckai.models.inference.threads import Worker


@contextmanager
def running(threads: Sequence[Worker], stop: threading.Event) -> Iterator[None]:
    """Start threads, run the block of the `with` statement, and wait until all threads have ended.

    Args:
        threads: threads that were not started yet and that end soon after `stop` is set.
        stop: set on an exception in the block, or while starting threads or waiting for them (that of
            Ctrl-C included); the exception is raised again once all threads that were started have ended.
    """
    started = []
    try:
        for thread in threads:
            started.append(thread)
            thread.start()
        yield
        for thread in threads:
            thread.join()
    except BaseException:
        stop.set()
        for thread in started:
            thread.join()
        raise


def run_all(threads: Sequence[Worker], stop: threading.Event) -> None:
    """Start threads and wait until all have ended; see `running`."""
    with running(threads, stop):
        pass


@contextmanager
def repeated(call: Callable[[], None], seconds: float, stop: threading.Event) -> Iterator[None]:
    """Call a function again and again in a thread during the block of the `with` statement.

    Args:
        call: the function.
        seconds: time between two calls.
        stop: set if the function raises, so that the block ends early; the exception is raised after it.
    """
    ended, errors = threading.Event(), list[BaseException]()

    def work() -> None:
        try:
            while not ended.wait(seconds):
                call()
        except BaseException as error:
            errors.append(error)
            stop.set()

    thread = Worker(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    if errors:
        raise errors[0]
