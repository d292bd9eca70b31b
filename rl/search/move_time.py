"""How much of the time left on a clock a search spends on a move.

`move_time` divides the time left by the moves that the player may still have to make; both the formula and
the two rules of `MoveTimer` are those of Huang, Coulom and Lin, "Time Management for Monte-Carlo Tree Search
Applied to the Game of Go" (2010): a search ends early when its first move can no longer change (EARLY), and
continues while the most visited move is not the one of the highest value (UNST). Baier and Winands, "Time
Management for Monte Carlo Tree Search" (2016), found the same rules best in five other games.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ckai.rl.games.contract import LOSS

MIN_MOVES, EXPECTED_PLIES = 12, 48
"""Moves of its own that a player always expects to make, and plies of a game after which it expects no more:
C and MaxPly of Huang, Coulom and Lin, for games of about 40 moves a side."""
MAX_RATIO = 3.0
"""Largest multiple of a move's time that a search may take while its result is unsettled."""
OVERHEAD = 0.02
"""Seconds kept back on every move for what is not search: threads that wait for a core, passing the move."""
RIVAL = 0.1
"""Share of the visits of the most visited move below which a higher value of another one does not count."""
CHECKS = 64
"""How often a search looks, within the time of a move, whether it can end."""


class MoveTime(NamedTuple):
    """The time of one move, in seconds."""

    optimum: float
    """When a search ends whose result is settled."""
    maximum: float
    """When every search ends."""


def move_time(
    left: float, increment: float = 0.0, moves: int | None = None, plies: int = 0, margin: float = OVERHEAD
) -> MoveTime:
    """Divide the time left on a clock, in seconds, of which `margin` is kept back.

    The moves to come are `C + max(P - plies, 0) / 2`, or `moves`, those to the next time control, if these
    are fewer. The increment of this move is spent on it. No move takes more than half of the time left,
    unless it is the last one before a time control: so a long think never makes the next one impossible.
    Both times are 0 if there is no more than the margin left.
    """
    to_come = MIN_MOVES + max(EXPECTED_PLIES - plies, 0) / 2
    if moves is not None:
        to_come = min(to_come, max(moves, 1))
    usable = max(0.0, left - margin)
    bound = usable * max(1 / to_come, 0.5)
    optimum = min(usable / to_come + increment, bound)
    return MoveTime(optimum, min(MAX_RATIO * optimum, bound))


class RootLead(NamedTuple):
    """How safe the lead of the first move at a root is."""

    lead: float
    """Visits that the next move needs to catch up, those in flight counted; infinite without a next move."""
    settled: bool
    """Whether no rival has a higher value."""


def root_lead(edges: Any) -> RootLead:
    """Compare the moves at a root that is not proven by its edges, `[n]` EDGE; losses do not count."""
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
        """Begin a move with `visits` of the root, now; `early`: the search may end before its time."""
        self.early = early
        self.time, self.begun = time_of_move, begun
        self._first_visits = visits
        self._last = begun, visits
        self._interval = time_of_move.optimum / CHECKS
        self._next = begun

    def ended(self, now: float, visits: int, compare: Callable[[], RootLead]) -> bool:
        """Return whether the search ends: its time is over, or its first move can no longer change.

        `compare` returns the lead at the root; it is called only now and then.
        """
        if now - self.begun >= self.time.maximum:
            return True
        if not self.early or now < self._next:
            return False
        self._next = now + self._interval
        spent, (last, last_visits) = now - self.begun, self._last
        lead, settled = compare()
        if lead == np.inf:
            return True
        if spent >= self.time.optimum:
            return settled
        if spent < self._interval:
            return False
        self._last = now, visits
        # Batches grow with the tree, and so does the rate.
        rate = max((visits - self._first_visits) / spent, (visits - last_visits) / max(now - last, 1e-9))
        return lead > rate * (self.time.optimum - spent)
