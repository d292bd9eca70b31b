"""Threads whose `join` survives Ctrl-C, and how many PyTorch starts."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

POLL_SECONDS = 0.2
"""Longest single wait: on some systems Ctrl-C does not interrupt a wait without a timeout."""


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
