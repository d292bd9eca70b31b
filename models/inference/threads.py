"""Threads that end cleanly on errors and Ctrl-C, and how many PyTorch starts."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

POLL_SECONDS = 0.2
"""Longest single wait: on some systems Ctrl-C does not interrupt a wait without a timeout."""
TURN_SECONDS = 1e-4
"""Longest wait of a thread for another one to let go of the interpreter, see `quick_turns`."""


class JoinableThread(threading.Thread):
    """A thread whose `join` can be called again after it was interrupted.

    In Python before 3.13 an exception during `Thread.join`, such as that of Ctrl-C, makes a running thread
    pass for one that has ended: the next `join` returns at once, and the interpreter shuts down while the
    thread is still at work (https://github.com/python/cpython/issues/90882).
    """

    def run(self) -> None:
        """See `threading.Thread.run`."""
        try:
            super().run()
        finally:
            self._over.set()

    def start(self) -> None:
        """See `threading.Thread.start`."""
        self._over = threading.Event()
        try:
            super().start()
        except RuntimeError:  # the system has no more threads: there is nothing to wait for
            self._over.set()
            raise

    def is_alive(self) -> bool:
        """Whether the thread was started and has not ended."""
        return self.ident is not None and not self._over.is_set()

    def join(self, timeout: float | None = None) -> None:
        """Wait until the thread has ended, but not longer than `timeout` seconds."""
        if timeout is not None:
            self._over.wait(timeout)
            return
        while not self._over.wait(POLL_SECONDS):
            pass
        if self.ident is not None:  # the system had a thread for it
            super().join()


def use_one_torch_thread() -> None:
    """Limit PyTorch, where it is loaded, to one thread in the calling thread, one of several callers."""
    if (torch := sys.modules.get("torch")) is not None:
        torch.set_num_threads(1)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit PyTorch, where it is loaded, to one thread inside the block: small batches are faster so."""
    if (torch := sys.modules.get("torch")) is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
