"""The clocks of both sides of a game."""

import time
from collections.abc import Callable

from ckai.cli.playing.session import Side
from ckai.rl.games.clock import Clock, TimeControl


class GameClock:
    """The clocks of both sides; at most one runs.

    Args:
        control: time of each side.
        now: returns the current time in seconds.
    """

    def __init__(self, control: TimeControl, now: Callable[[], float] = time.perf_counter) -> None:
        self.control = control
        self.sides: dict[Side, Clock] = {"black": Clock(control, now), "white": Clock(control, now)}
        self._marks: dict[int, dict[Side, float]] = {}

    def start(self, side: Side, ply: int) -> None:
        """Run the clock of the side to move; `ply` plies have been played."""
        self._marks.setdefault(ply, {each: clock.left for each, clock in self.sides.items()})
        self.sides["white" if side == "black" else "black"].stop()
        self.sides[side].start()

    def pause(self) -> None:
        """Stop both clocks; nothing is added."""
        for clock in self.sides.values():
            clock.stop()

    def press(self, side: Side) -> None:
        """End the move of a side: stop its clock and add the increment."""
        self.sides[side].press()

    def left(self, side: Side) -> float:
        """Return the seconds left; 0 or less once the time is up."""
        return self.sides[side].left

    def restore(self, ply: int) -> None:
        """Set both clocks to what they were when the move after `ply` plies began, if that is known."""
        self.pause()
        for side, left in self._marks.get(ply, {}).items():
            self.sides[side].reset(left)
        self._marks = {n: marks for n, marks in self._marks.items() if n < ply}

    def text(self, side: Side) -> str:
        """Return the time left as `4:58`, or `9.3` in the last ten seconds."""
        left = max(0.0, self.left(side))
        if left < 10:
            return f"{left:.1f}"
        hours, rest = divmod(int(left), 3600)
        minutes = f"{rest // 60:02}" if hours else f"{rest // 60}"
        return f"{hours}:{minutes}:{rest % 60:02}" if hours else f"{minutes}:{rest % 60:02}"
