"""When a search by a clock ends: early if its first move can no longer change (EARLY), late while the most
visited move is not the one of the highest value (UNST).

The rules of Huang, Coulom and Lin, "Time Management for Monte-Carlo Tree Search Applied to the Game of Go"
(2010). Baier and Winands, "Time Management for Monte Carlo Tree Search" (2016), found them best in five other
games.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ckai.rl.games.contract import LOSS

RIVAL = 0.1
"""Share of the visits of the most visited move below which a higher value of another one does not count."""
CHECKS = 64
"""How often a search looks, within the time of a move, whether it can end."""


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

    def __init__(
        self, optimum: float, maximum: float, begun: float, visits: int, *, early: bool = True
    ) -> None:
        """Begin a move of these times (see `MoveTime`), now, with `visits` of the root.

        `early`: the search may end before its time.
        """
        self.early = early
        self.optimum, self.maximum, self.begun = optimum, maximum, begun
        self._first_visits, self._last = visits, (begun, visits)
        self._interval, self._next = optimum / CHECKS, begun

    def ended(self, now: float, visits: int, compare: Callable[[], RootLead]) -> bool:
        """Return whether the search ends: its time is over, or its first move can no longer change.

        `compare` returns the lead at the root; it is called only now and then.
        """
        if now - self.begun >= self.maximum:
            return True
        if not self.early or now < self._next:
            return False
        self._next = now + self._interval
        spent, (last, last_visits) = now - self.begun, self._last
        lead, settled = compare()
        if lead == np.inf:
            return True
        if spent >= self.optimum:
            return settled
        if spent < self._interval:
            return False
        self._last = now, visits
        # Batches grow with the tree, and so does the rate.
        rate = max((visits - self._first_visits) / spent, (visits - last_visits) / max(now - last, 1e-9))
        return lead > rate * (self.optimum - spent)
