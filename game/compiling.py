"""The message shown when kernels are compiled, and a count of what was compiled.

By default it is a warning of the logger `ckai`; a program may show it in its own way with `report_with`.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from numba.core import event

from ckai.game.compiler import kernel_cache

_EVENT = "numba:compile"
_report: Callable[[str], None] = logging.getLogger("ckai").warning
_reported = _unsaved = False
_HINT = "; set NUMBA_CACHE_DIR to a folder that can be written"


class CompileCounter(event.Listener):  # type: ignore[misc]
    """Counts functions of this package that are compiled, not those that come from the cache.

    Attributes:
        functions: number of functions compiled so far, those inside kernels included.
        seconds: compile time so far, of kernels and all that they call.
    """

    def __init__(self) -> None:
        self.functions = 0
        self.seconds = 0.0
        self._depth = 0
        self._begun = 0.0

    def on_start(self, event: Any) -> None:
        """See Numba's `Listener`."""
        # Numba compiles one kernel at a time, and the functions it calls within that.
        if self._depth == 0:
            self._begun = perf_counter()
        self._depth += 1
        if _is_ours(event):
            self.functions += 1

    def on_end(self, event: Any) -> None:
        """See Numba's `Listener`."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._begun


class _Reporter(event.Listener):  # type: ignore[misc]
    """Says once in a process that something is compiled."""

    def on_start(self, event: Any) -> None:
        global _reported
        if not _reported and _is_ours(event):
            _reported = True
            _report(message())

    def on_end(self, event: Any) -> None:
        """See Numba's `Listener`."""


def _is_ours(event: Any) -> bool:
    module: str = event.data["dispatcher"].py_func.__module__ or ""
    return module.startswith("ckai.")


def message() -> str:
    """Return the message: compiled only once, or at every start because nothing can be cached."""
    if kernel_cache.folder() is not None:
        return "compiling for this machine (only the first time) ..."
    return f"compiling for this machine, again at every start: no cache folder can be written{_HINT}"


def report_unsaved(error: OSError) -> None:
    """Say once in a process that compiled code cannot be saved."""
    global _unsaved
    if not _unsaved:
        _unsaved = True
        _report(f"compiled code cannot be saved, so it is compiled again at every start: {error}{_HINT}")


def report_with(report: Callable[[str], None]) -> None:
    """Pass the message to `report` from now on; default: a warning of the logger `ckai`."""
    global _report
    _report = report


def install() -> None:
    """Report the first kernel that this process compiles."""
    event.register(_EVENT, _Reporter())


@contextmanager
def count_compiled() -> Iterator[CompileCounter]:
    """Count the functions compiled during a `with` block, by any thread."""
    counter = CompileCounter()
    event.register(_EVENT, counter)
    try:
        yield counter
    finally:
        event.unregister(_EVENT, counter)
