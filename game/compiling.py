"""The message shown when kernels are compiled, and a count of what was compiled.

By default it is a warning of the logger `ckai`; a program may show it in its own way with `report_with`.
"""

import logging
from collections.abc import Callable
from time import perf_counter
from typing import Any

from numba.core import event

kept = True
"""Whether compiled code is kept for later processes."""
_HINT = "; set NUMBA_CACHE_DIR to a folder that can be written"
_report: Callable[[str], None] = logging.getLogger("ckai").warning


class Compiled(event.Listener):  # type: ignore[misc]
    """Counts what this process compiled, by any thread; what comes from the cache is left out.

    Attributes:
        functions: number of functions of this package so far, those inside kernels included.
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
        if (event.data["dispatcher"].py_func.__module__ or "").startswith("ckai."):
            if self.functions == 0:
                _report(message())
            self.functions += 1

    def on_end(self, event: Any) -> None:
        """See Numba's `Listener`."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._begun


def message() -> str:
    """Return the message: compiled only once, or at every start because nothing can be cached."""
    if kept:
        return "compiling for this machine (only the first time) ..."
    return f"compiling for this machine, again at every start: no cache folder can be written{_HINT}"


def report_with(report: Callable[[str], None]) -> None:
    """Pass the message to `report` from now on; default: a warning of the logger `ckai`."""
    global _report
    _report = report


compiled = Compiled()
"""What this process compiled."""
