"""`Stop`: ends a search; imports nothing heavy."""

import threading
from collections.abc import Callable


class Stop:
    """Ends a search from any thread, also one that is only about to begin. Once set, it stays set."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: Callable[[], None] | None = None
        self._set = False

    def is_set(self) -> bool:
        """Return whether the search is to end."""
        return self._set

    def set(self) -> None:
        """End the search soon; calling it again does nothing."""
        with self._lock:
            if not self._set and self._ends is not None:
                self._ends()
            self._set = True

    def attach(self, ends: Callable[[], None] | None) -> None:
        """Give the function that ends the search now in progress; it is called at once after a `set`."""
        with self._lock:
            self._ends = ends
            if self._set and ends is not None:
                ends()
