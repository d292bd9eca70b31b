"""`Analysis`: a search in a thread of its own, whose results can be read while it runs."""

import atexit
import threading
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self, TypeAlias

from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.result import SearchResult

Publish: TypeAlias = Callable[[SearchResult], None]

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

    Raises:
        Exception: whatever the search raised, from the loop, `next`, `wait` or the end of the `with` block,
            once.
    """

    def __init__(self, work: Callable[[Publish], SearchResult], stop: Callable[[], None]) -> None:
        """Start a search.

        Args:
            work: runs the search, passes intermediate results to its argument and returns the final one.
            stop: makes `work` return soon; may be called from any thread.
        """
        self._stop = stop
        self._changed = threading.Condition()
        self._fresh: SearchResult | None = None
        """The newest result; None if it was read already."""
        self._final: SearchResult | None = None
        self._error: BaseException | None = None
        self._ended = False
        _searching.add(self)
        self._thread = JoinableThread(target=self._run, args=(work,), name="ckai-analysis", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the search soon; its last result can still be read. May be called from any thread."""
        with self._changed:
            if not self._ended:
                self._stop()

    def wait(self) -> SearchResult:
        """Wait until the search has ended and return its last result."""
        self._thread.join()
        self._raise_error()
        if self._final is None:
            raise RuntimeError("the search failed; its error was raised before")
        return self._final

    def __next__(self) -> SearchResult:
        with self._changed:
            self._changed.wait_for(lambda: self._fresh is not None or self._ended)
            result, self._fresh = self._fresh, None
        if result is None:
            self._raise_error()
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        if kind is None:
            self._raise_error()

    def _end(self) -> None:
        self.stop()
        self._thread.join()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self, work: Callable[[Publish], SearchResult]) -> None:
        final: SearchResult | None = None
        try:
            final = work(self._publish)
        except BaseException as error:
            self._error = error
        _searching.discard(self)
        with self._changed:
            self._fresh = self._final = final
            self._ended = True
            self._changed.notify_all()

    def _publish(self, result: SearchResult) -> None:
        with self._changed:
            self._fresh = result
            self._changed.notify_all()
