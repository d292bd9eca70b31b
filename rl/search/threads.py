"""Starting threads and waiting for them, with a clean end on errors and Ctrl-C; threads that share trees."""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ckai.models.inference.threads import JoinableThread, use_one_torch_thread

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


class Helpers:
    """Threads that fill, evaluate and back up batches of their own, one at a time in the trees.

    From `start` to `stop` the caller has the trees for itself, except in the block of `released`. So nothing
    changes while it reads them, and nobody waits for a thread that hands batches out.
    """

    def __init__(self) -> None:
        self._trees = threading.Lock()
        self._mine = False
        """Whether the caller has locked the trees."""
        self._working: list[JoinableThread] = []
        self._errors: list[BaseException] = []
        self._over = False

    @property
    def running(self) -> bool:
        """Whether threads were started and not stopped."""
        return bool(self._working)

    @property
    def ended(self) -> bool:
        """Whether one of the threads has ended by itself, after an error or because it found no work."""
        return not all(worker.is_alive() for worker in self._working)

    def start(self, works: Sequence[tuple[Callable[[], bool], Callable[[], None]]]) -> None:
        """Start a thread for each pair of functions, which it calls in turn until `stop`.

        Args:
            works: functions that back up and fill a batch, in the trees, and return whether it has leaves (if
                not, the thread ends); and functions that evaluate the batch.
        """
        self._over = False
        self._take()
        for work in works:
            # Daemons, so that a search that a program leaves running does not keep it from ending.
            worker = JoinableThread(target=self._work, args=work, daemon=True)
            worker.start()
            self._working.append(worker)

    def _work(self, fill: Callable[[], bool], evaluate: Callable[[], None]) -> None:
        use_one_torch_thread()
        try:
            while True:
                with self._trees:
                    if self._over or not fill():
                        return
                evaluate()
        except BaseException as error:
            self._errors.append(error)

    @contextmanager
    def released(self) -> Iterator[None]:
        """Leave the trees to the threads during the block of the `with` statement."""
        if not self._working:
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._take()

    def _take(self) -> None:
        self._trees.acquire()
        self._mine = True

    def _give(self) -> None:
        if self._mine:  # not if Ctrl-C came while the caller waited for them
            self._mine = False
            self._trees.release()

    def stop(self) -> None:
        """End the threads and wait for them; a batch that they filled is evaluated then, but not backed up.

        Raises:
            Exception: what one of the functions raised.
        """
        self._over = True
        self._give()
        for worker in self._working:
            worker.join()
        self._working.clear()
        errors, self._errors = self._errors, []
        if errors:
            raise errors[0]
