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


class Turns:
    """Threads that fill, evaluate and back up batches of their own, one at a time in the trees.

    The caller is number 0, with the trees for itself from `take` to `give`. If the turns are `ordered`, they
    go round, so that what is found does not depend on timing; else whoever is ready is next, so that nobody
    waits for a slower one.
    """

    def __init__(self) -> None:
        self.ordered = True
        self._changed = threading.Condition()
        self._turn: int | None = 0
        """Who has the trees, or may take them; None: anybody."""
        self._threads: list[JoinableThread] = []
        self._errors: list[BaseException] = []
        self._over = False

    @property
    def running(self) -> bool:
        """Whether threads were started and not stopped."""
        return bool(self._threads)

    def start(self, works: Sequence[tuple[Callable[[], bool], Callable[[], None]]]) -> None:
        """Start a thread for each pair of functions, which it calls until `stop`.

        One backs up and fills a batch, in the trees, and returns whether it has leaves; one evaluates it.
        """
        for number, work in enumerate(works, 1):
            # Daemons, so that a search that a program leaves running does not keep it from ending.
            self._threads.append(JoinableThread(target=self._work, args=(number, *work), daemon=True))
            self._threads[-1].start()

    def _work(self, number: int, fill: Callable[[], bool], evaluate: Callable[[], None]) -> None:
        use_one_torch_thread()
        try:
            while self._has_turn(number):
                filled = fill()
                self.give(number, filled)
                if filled:
                    evaluate()
        except BaseException as error:
            with self._changed:
                self._errors.append(error)
                self._changed.notify_all()

    def _has_turn(self, number: int) -> bool:
        """Wait for the turn of a thread; return whether it has the trees, and does not have to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._ending or self._turn in (None, number))
            if not self._ending:
                self._turn = number
            return not self._ending

    @property
    def _ending(self) -> bool:
        return self._over or bool(self._errors)

    def take(self) -> None:
        """Wait for the caller's turn; raises what a function has raised."""
        if not self._has_turn(0):
            self.stop()

    def give(self, number: int, filled: bool) -> None:
        """End the turn of a thread, or of the caller, that has filled its batch, or found nothing to do.

        Then the others have theirs first.
        """
        with self._changed:
            in_order = self.ordered or not filled
            self._turn = (number + 1) % (1 + len(self._threads)) if in_order else None
            self._changed.notify_all()

    def stop(self) -> None:
        """End the threads and wait for them; a batch that they filled is evaluated then, but not backed up.

        Raises what a function has raised. It is the caller's turn afterwards.
        """
        with self._changed:
            self._over = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        self._over, self._turn = False, 0
        errors, self._errors = self._errors, []
        if errors:
            raise errors[0]
