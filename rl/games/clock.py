"""Time controls, and the clocks of games."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_TIME = r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m)"
_CONTROL = re.compile(rf"{_TIME}(?:\+{_TIME})?")
MAX_SECONDS = 1_000_000
"""Largest time of a time control."""


@dataclass(frozen=True)
class TimeControl:
    """The time of each player for a game; a ValueError says that a number is out of range.

    Example:
        >>> TimeControl.read("5m+3s")
        TimeControl(seconds=300.0, increment=3.0)
        >>> str(TimeControl.read("5m+3s"))
        '300s+3s'
    """

    seconds: float
    """Time at the start, above 0."""
    increment: float = 0.0
    """Seconds added after every move, 0 or more (Fischer)."""

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= MAX_SECONDS:
            raise ValueError(f"expected a time above 0, at most {MAX_SECONDS:,} s, found {self.seconds:g} s")
        if not 0 <= self.increment <= MAX_SECONDS:
            raise ValueError(f"expected an increment from 0 to {MAX_SECONDS:,} s, found {self.increment:g} s")

    @classmethod
    def read(cls, text: str) -> "TimeControl":
        """Parse `TIME[+INCREMENT]`, times in ms, s or m, such as `5m+3s`; a ValueError refuses others."""
        parts = _CONTROL.fullmatch(text)
        if parts is None:
            raise ValueError(f"expected a time control such as 5m+3s or 60s+0.6s, found {text!r}")
        number, unit, added, added_unit = parts.groups("")
        return cls(float(number) * _UNITS[unit], float(added or 0) * _UNITS.get(added_unit, 0.0))

    def __str__(self) -> str:
        return f"{self.seconds:g}s" + (f"+{self.increment:g}s" if self.increment else "")


class Clock:
    """The clock of one player in one game. It stands still until it is started.

    Attributes:
        control: the time control.
        now: returns the time in seconds.
    """

    def __init__(self, control: TimeControl, now: Callable[[], float] = time.perf_counter) -> None:
        self.control, self.now, self._left = control, now, control.seconds
        self._started: float | None = None

    @property
    def left(self) -> float:
        """Seconds left, below 0 once the time is over."""
        return self._left if self._started is None else self._left - (self.now() - self._started)

    def start(self) -> None:
        """Start the clock; does nothing if it runs."""
        if self._started is None:
            self._started = self.now()

    def stop(self) -> None:
        """Stop the clock; does nothing if it does not run."""
        self._left, self._started = self.left, None

    def press(self) -> None:
        """End a move: stop the clock, and add the increment."""
        self.stop()
        self._left += self.control.increment
