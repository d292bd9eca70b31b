"""Starting threads and waiting for them, with a clean end on errors and Ctrl-C."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ckai.models.inference.threads import JoinableThread

TURN_SECONDS = 1e-4
"""Longest wait of a thread for another one to let go of the interpreter, see `quick_turns`."""


@contextmanager
def running(
    calls: Sequence[Callable[[], None]], stop: threading.Event, *, name: str = "worker"
) -> Iterator[None]:
    """Call functions, each in a thread of its own, run the block of the `with` statement, and wait for all.

    The functions return soon after `stop` is set, as it is on an exception in one of them or in the block,
    Ctrl-C included. Once all have ended it is raised: that of the block, otherwise the first of the calls.
    """
    errors: list[BaseException] = []

    def work(call: Callable[[], None]) -> None:
        try:
            call()
        except BaseException as error:
            errors.append(error)
            stop.set()

    threads = [JoinableThread(target=work, args=(call,), name=f"{name} {n}") for n, call in enumerate(calls)]
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
    if errors:
        raise errors[0]


def run_all(calls: Sequence[Callable[[], None]], stop: threading.Event, *, name: str = "worker") -> None:
    """Call functions, each in a thread of its own, and wait until all have returned; see `running`."""
    with running(calls, stop, name=name):
        pass


@contextmanager
def repeated(call: Callable[[], None], seconds: float, stop: threading.Event) -> Iterator[None]:
    """Call a function every so many seconds in a thread during the block of the `with` statement.

    If it raises, `stop` is set, so that the block ends early; the exception is raised after it.
    """
    ended = threading.Event()

    def work() -> None:
        try:
            while not ended.wait(seconds):
                call()
        except BaseException:
            stop.set()
            raise

    with running([work], ended, name="repeated"):
        yield
        ended.set()


@contextmanager
def quick_turns() -> Iterator[None]:
    """Let threads take the interpreter from one another sooner, during the block of the `with` statement.

    A thread that has only a few lines of Python to run between two kernels waits that long for one that
    runs nothing else: with Python's 5 ms, threads that play would mostly wait for one that trains.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
