"""Time controls, the clocks of games, and how much of the time left a search spends on a move.

`move_time` divides the time left by the moves that the player may still have to make; both the formula and
the two rules of `MoveTimer` are those of Huang, Coulom and Lin, "Time Management for Monte-Carlo Tree Search
Applied to the Game of Go" (2010): a search ends early when its first move can no longer change (EARLY), and
goes on while the most visited move is not the one of the highest value (UNST). Baier and Winands, "Time
Management for Monte Carlo Tree Search" (2016), found the same rules best in five other games.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np

from ckai.rl.games.contract import LOSS

LEAST_MOVES, EXPECTED_PLIES = 12, 48
"""Moves of its own that a player always expects to make, and plies of a game after which it expects no more:
C and MaxPly of Huang, Coulom and Lin, for games of about 40 moves a side."""
LONGEST = 3.0
"""Most multiples of a move's time that a search may take while its result is unsettled."""
OVERHEAD = 0.02
"""Seconds kept back on every move for what is not search: threads that wait for a core, passing the move."""
RIVAL = 0.1
"""Share of the visits of the most visited move below which a higher value of another one does not count."""
CHECKS = 64
"""How often a search looks, within the time of a move, whether it can end."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_TIME = r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m)"
_CONTROL = re.compile(rf"(?:(?P<moves>\d+)/)?{_TIME}(?:\+{_TIME})?")
MOST_SECONDS, MOST_MOVES = 1_000_000, 1000
"""Largest time and number of moves of a time control."""


class ClockReason(StrEnum):
    """Why a game is over, for an `Outcome`, where a clock ended it."""

    TIME = "out of time"


@dataclass(frozen=True)
class TimeControl:
    """A time control: the time of each player for a game, or for a number of moves.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> TimeControl.read("5m+3s")
        TimeControl(seconds=300.0, increment=3.0, moves=None)
        >>> str(TimeControl.read("40/300s"))
        '40/300s'
    """

    seconds: float
    """Time at the start, above 0."""
    increment: float = 0.0
    """Seconds added after every move, 0 or more (Fischer)."""
    moves: int | None = None
    """Moves after which `seconds` are added again, 1 or more; None: never."""

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= MOST_SECONDS:
            raise ValueError(f"expected a time above 0, at most {MOST_SECONDS:,} s, found {self.seconds:g} s")
        if not 0 <= self.increment <= MOST_SECONDS:
            raise ValueError(
                f"expected an increment from 0 to {MOST_SECONDS:,} s, found {self.increment:g} s"
            )
        if self.moves is not None and not 1 <= self.moves <= MOST_MOVES:
            raise ValueError(f"expected from 1 to {MOST_MOVES:,} moves, found {self.moves}")

    @classmethod
    def read(cls, text: str) -> "TimeControl":
        """Parse `[MOVES/]TIME[+INCREMENT]`, times in ms, s or m, such as `5m+3s` or `40/300s`.

        Raises:
            ValueError: the text is something else, or a number is out of range.
        """
        parts = _CONTROL.fullmatch(text)
        if parts is None:
            raise ValueError(f"expected a time control such as 5m+3s, 60s+0.6s or 40/300s, found {text!r}")
        moves, number, unit, added, added_unit = parts.groups()
        if moves is not None and len(moves) > len(str(MOST_MOVES)):
            raise ValueError(f"expected from 1 to {MOST_MOVES:,} moves, found {moves[:20]}")
        return cls(
            float(number) * _UNITS[unit],
            float(added) * _UNITS[added_unit] if added else 0.0,
            int(moves) if moves else None,
        )

    def __str__(self) -> str:
        moves = "" if self.moves is None else f"{self.moves}/"
        return f"{moves}{self.seconds:g}s" + (f"+{self.increment:g}s" if self.increment else "")


class Clock:
    """The clock of one player in one game. It stands still until it is started.

    Attributes:
        control: the time control.
        moves: moves to the next time control, None if there is none.

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
        self.moves = control.moves
        self._now = now
        self._left = control.seconds
        self._started: float | None = None

    @property
    def left(self) -> float:
        """Seconds left, below 0 once the time is over."""
        return self._left if self._started is None else self._left - (self._now() - self._started)

    @property
    def running(self) -> bool:
        """Whether the clock runs."""
        return self._started is not None

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
        """End a move: stop the clock, and add the increment and the time of the next time control."""
        self.stop()
        self._left += self.control.increment
        if self.moves is not None:
            self.moves -= 1
            if self.moves == 0:
                self._left += self.control.seconds
                self.moves = self.control.moves


class MoveTime(NamedTuple):
    """The time of one move, in seconds."""

    target: float
    """When a search ends whose result is settled."""
    most: float
    """When every search ends."""


def move_time(
    left: float, increment: float = 0.0, moves: int | None = None, plies: int = 0, margin: float = OVERHEAD
) -> MoveTime:
    """Divide the time left on a clock.

    The moves to come are `C + max(P - plies, 0) / 2`, or those to the next time control if these are fewer.
    The increment of this move is spent on it. No move takes more than half of the time left, unless it is the
    last one before a time control: so a long think never makes the next one impossible.

    Args:
        left: seconds left on the clock.
        increment: seconds added after the move.
        moves: moves to the next time control, this one included; None: the time is for the whole game.
        plies: plies played so far.
        margin: seconds to keep back, such as for a batch that must be completed.

    Returns:
        The times; both 0 if there is no more than the margin left.
    """
    to_come = LEAST_MOVES + max(EXPECTED_PLIES - plies, 0) / 2
    if moves is not None:
        to_come = min(to_come, max(moves, 1))
    usable = max(0.0, left - margin)
    bound = usable * max(1 / to_come, 0.5)
    target = min(usable / to_come + increment, bound)
    return MoveTime(target, min(LONGEST * target, bound))


class RootLead(NamedTuple):
    """How safe the lead of the first move at a root is."""

    lead: float
    """Visits that the next move needs to catch up, those in flight counted; infinite without a next move."""
    settled: bool
    """Whether no rival has a higher value."""


def root_lead(edges: Any) -> RootLead:
    """Compare the moves at a root.

    Args:
        edges: `[n]` EDGE, the edges of a root that is not proven, n 1 or more. Those that are proven lost
            do not count.
    """
    edges = edges[edges["proof"] != LOSS]
    if len(edges) < 2:
        return RootLead(np.inf, True)
    visits = edges["visits"].astype(np.int64)
    # Without visits, the value of an edge counts as that of the worst.
    values = np.where(visits > 0, edges["value_sum"] / np.maximum(visits, 1), -1.0)
    order = np.lexsort((values, visits))
    best = order[-1]
    others = np.delete(visits + edges["in_flight"], best)
    rivals = visits >= max(1.0, RIVAL * visits[best])
    return RootLead(
        float(visits[best] - others.max()), bool(values[best] >= values[rivals].max(initial=-1.0))
    )


class MoveTimer:
    """One move by time: decides when its search ends."""

    def __init__(self, time_of_move: MoveTime, begun: float, visits: int, *, early: bool = True) -> None:
        """Begin a move.

        Args:
            time_of_move: see `move_time`.
            begun: the time now, in seconds.
            visits: visits of the root now.
            early: whether the search may end before its time.
        """
        self.early = early
        self.time, self.begun = time_of_move, begun
        self._first_visits = visits
        self._last = begun, visits
        self._interval = time_of_move.target / CHECKS
        self._next = begun

    def ended(self, now: float, visits: int, compare: Callable[[], RootLead]) -> bool:
        """Return whether the search ends: its time is over, or its first move can no longer change.

        Args:
            now: the time, in seconds.
            visits: visits of the root.
            compare: returns the lead at the root; called only now and then.
        """
        if now - self.begun >= self.time.most:
            return True
        if not self.early or now < self._next:
            return False
        self._next = now + self._interval
        spent, (last, last_visits) = now - self.begun, self._last
        lead, settled = compare()
        if lead == np.inf:
            return True
        if spent >= self.time.target:
            return settled
        if spent < self._interval:
            return False
        self._last = now, visits
        # Batches grow with the tree, and so does the rate.
        rate = max((visits - self._first_visits) / spent, (visits - last_visits) / max(now - last, 1e-9))
        return lead > rate * (self.time.target - spent)
