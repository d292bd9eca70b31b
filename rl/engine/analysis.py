"""`Analysis`: a search in a thread of its own, whose results can be read while it runs."""

import atexit
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Self

from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.result import SearchResult

_searching: set["Analysis"] = set()
"""Those whose search has not ended."""


@atexit.register
def _end_all() -> None:
    """End the searches that a program left running: a thread at work during exit may abort the process."""
    for analysis in list(_searching):
        analysis._end()


class Analysis:
    """The results of a running search, made by `Engine.analysis`.

    Iterate over it, or get one result at a time with `next`. Each result has more visits than the one before;
    a result that is not read in time is replaced by a newer one. The last result has the reason why the
    search ended. Leaving the loop or the `with` block stops the search and waits until it has ended.

    Attributes:
        stop: ends the search soon; its last result can still be read. May be called from any thread.

    Args:
        work: searches, passes intermediate results to its argument and returns the last one.

    Raises:
        Exception: whatever the search raised, from the loop, `next`, `wait` or the end of the `with` block.
    """

    def __init__(
        self, work: Callable[[Callable[[SearchResult], None]], SearchResult], stop: Callable[[], None]
    ) -> None:
        self.stop = stop
        self._changed = threading.Condition()
        self._fresh: SearchResult | None = None
        """The newest result; None if it was read already."""
        self._final: Future[SearchResult] = Future()
        self._thread = JoinableThread(target=self._run, args=(work,), name="ckai-analysis", daemon=True)
        _searching.add(self)
        self._thread.start()

    def wait(self) -> SearchResult:
        """Wait until the search has ended and return its last result."""
        self._thread.join()
        return self._final.result()

    def __next__(self) -> SearchResult:
        with self._changed:
            self._changed.wait_for(lambda: self._fresh is not None or self._final.done())
            result, self._fresh = self._fresh, None
        if result is None:
            self._final.result()  # raises what the search raised
            raise StopIteration
        return result

    def __iter__(self) -> Iterator[SearchResult]:
        try:
            while (result := next(self, None)) is not None:
                yield result
        finally:
            self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._end()
        if kind is None:
            self._final.result()

    def _end(self) -> None:
        self.stop()
        self._thread.join()

    def _run(self, work: Callable[[Callable[[SearchResult], None]], SearchResult]) -> None:
        try:
            self._publish(final := work(self._publish))
            self._final.set_result(final)
        except BaseException as error:
            self._final.set_exception(error)
        _searching.discard(self)
        with self._changed:
            self._changed.notify_all()

    def _publish(self, result: SearchResult) -> None:
        with self._changed:
            self._fresh = result
            self._changed.notify_all()
