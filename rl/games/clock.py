"""Time controls, and the clocks of games."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_TIME = r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m)"
_CONTROL = re.compile(rf"{_TIME}(?:\+{_TIME})?")
MAX_SECONDS = 1_000_000
"""Largest time of a time control."""


class ClockReason(StrEnum):
    """Why a game is over, for an `Outcome`, where a clock ended it."""

    TIME = "out of time"


@dataclass(frozen=True)
class TimeControl:
    """A time control: the time of each player for a game.

    Raises:
        ValueError: a number is out of range.

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
        """Parse `TIME[+INCREMENT]`, times in ms, s or m, such as `5m+3s`.

        Raises:
            ValueError: the text is something else, or a number is out of range.
        """
        parts = _CONTROL.fullmatch(text)
        if parts is None:
            raise ValueError(f"expected a time control such as 5m+3s or 60s+0.6s, found {text!r}")
        number, unit, added, added_unit = parts.groups()
        increment = float(added) * _UNITS[added_unit] if added else 0.0
        return cls(float(number) * _UNITS[unit], increment)

    def __str__(self) -> str:
        return f"{self.seconds:g}s" + (f"+{self.increment:g}s" if self.increment else "")


class Clock:
    """The clock of one player in one game. It stands still until it is started.

    Example:
        >>> clock = Clock(TimeControl(60, 0.5), now=iter([100, 102]).__next__)
        >>> clock.start()
        >>> clock.stop()
        >>> clock.press()
        >>> clock.left
        58.5
    """

    def __init__(self, control: TimeControl, now: Callable[[], float] = time.perf_counter) -> None:
        """Set the clock to the time at the start; `now` returns the time in seconds."""
        self.control = control
        self._now = now
        self._left = control.seconds
        self._started: float | None = None

    @property
    def left(self) -> float:
        """Seconds left, below 0 once the time is over."""
        return self._left if self._started is None else self._left - (self._now() - self._started)

    def start(self) -> None:
        """Start the clock; does nothing if it runs."""
        if self._started is None:
            self._started = self._now()

    def stop(self) -> None:
        """Stop the clock; does nothing if it does not run."""
        self._left, self._started = self.left, None

    def reset(self, left: float) -> None:
        """Stand still with `left` seconds, as after a move was taken back."""
        self._left, self._started = left, None

    def press(self) -> None:
        """End a move: stop the clock, and add the increment."""
        self.stop()
        self._left += self.control.increment
