"""Clocks of a game: a time for each side and an increment after each move."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from ckai.cli.terminal.session import Side

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|m|s|)")
MAX_SECONDS = 7 * 24 * 3600.0

MOVES_AHEAD = 30
"""Moves that a clock is divided among."""
MOST_OF_CLOCK = 0.5
"""Largest share of a clock for one move."""
SPARE_SECONDS = 0.1
"""Kept back for what is not the search: drawing, saving."""


@dataclass(frozen=True)
class TimeControl:
    """Seconds for a side's whole game, and seconds added after each of its moves."""

    base: float
    increment: float = 0.0

    @classmethod
    def read(cls, text: str) -> "TimeControl":
        """Parse `5m+3s`, `90+2`, `1h`, `2m30s`; a number without a unit is seconds.

        Raises:
            ValueError: the text is no time control, or the time is 0 or longer than a week.

        >>> TimeControl.read("5m+3s")
        TimeControl(base=300.0, increment=3.0)
        """
        base, plus, increment = text.replace(" ", "").lower().partition("+")
        try:
            control = cls(_seconds(base), _seconds(increment) if plus else 0.0)
        except ValueError:
            raise ValueError(f"expected a clock such as 5m+3s, 90+2 or 1h, found {text!r}") from None
        if not 0 < control.base <= MAX_SECONDS or control.increment > MAX_SECONDS:
            raise ValueError(f"expected a time above 0 and of at most a week, found {text!r}")
        return control

    def __str__(self) -> str:
        """Return the form of PDN's TimeControl: `300+3`."""
        return f"{self.base:g}+{self.increment:g}"


def _seconds(text: str) -> float:
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(text)
    return float(sum(float(number) * _UNITS[unit] for number, unit in parts))


def move_seconds(left: float, increment: float) -> float:
    """Return the time for a move, in seconds, that the engine gives itself with `left` on its clock."""
    share = left / MOVES_AHEAD + 0.8 * increment
    return max(0.01, min(share, MOST_OF_CLOCK * left, left - SPARE_SECONDS))


class Clock:
    """The clocks of both sides; at most one runs.

    Args:
        control: time of each side.
        now: the present in seconds.
    """

    def __init__(self, control: TimeControl, now: Callable[[], float] = time.monotonic) -> None:
        self.control, self._now = control, now
        self._left: dict[Side, float] = {"black": control.base, "white": control.base}
        self._running: Side | None = None
        self._since = 0.0
        self._marks: dict[int, dict[Side, float]] = {}

    def start(self, side: Side, ply: int) -> None:
        """Run the clock of the side to move, which has played `ply` plies together with the other side."""
        if self._running != side:
            self.pause()
            self._running, self._since = side, self._now()
            self._marks.setdefault(ply, dict(self._left))

    def pause(self) -> None:
        """Stop the clock that runs; nothing is added."""
        if self._running is not None:
            self._left[self._running] = self.left(self._running)
        self._running = None

    def press(self, side: Side) -> None:
        """End the move of a side: stop its clock and add the increment."""
        self.pause()
        self._left[side] += self.control.increment

    def left(self, side: Side) -> float:
        """Return the seconds left; 0 or less once the time is up."""
        return self._left[side] - (self._now() - self._since if self._running == side else 0.0)

    def restore(self, ply: int) -> None:
        """Set both clocks to what they were when the move after `ply` plies began, if that is known."""
        self._running = None
        if ply in self._marks:
            self._left = dict(self._marks[ply])
        self._marks = {n: left for n, left in self._marks.items() if n <= ply}
        self._marks.pop(ply, None)

    def text(self, side: Side) -> str:
        """Return the time left as `4:58`, or `9.3` in the last ten seconds."""
        left = max(0.0, self.left(side))
        if left < 10:
            return f"{left:.1f}"
        hours, rest = divmod(int(left), 3600)
        minutes = f"{rest // 60:02}" if hours else f"{rest // 60}"
        return f"{hours}:{minutes}:{rest % 60:02}" if hours else f"{minutes}:{rest % 60:02}"
