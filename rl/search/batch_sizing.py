"""How many leaves to evaluate in one call when time is short.

A call of an evaluator takes about `overhead + n * cost` for n positions. Many positions a call use the time
better; but leaves that are selected together do not profit from each other's values, which matters less the
larger the tree is. With a tree of N visits the leaves of a call are worth about n (1 - n / 2N) leaves that
are selected one by one, so that the worth per second is greatest at

    n = h (sqrt(1 + 2 N / h) - 1) with h = overhead / cost,

rounded down to one of a few sizes, because some backends prepare each size once. Results depend on the
measured latency, so this is for searches with a time limit only.
"""

import math
import timeit
from bisect import bisect_right
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import one_torch_thread

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Sizes of calls."""
MEASURED = (1, 16, 64)
"""Sizes of the calls that measure the latency."""
CALLS = 7
"""Calls of each size, of which the fastest counts: other work only makes calls slower."""


@dataclass(frozen=True)
class BatchSizer:
    """Chooses the size of the next call, from the latency of an evaluator."""

    overhead: float
    """h, the number of positions that take as long as the overhead of a call, above 0."""
    cost: float = 0.0
    """Seconds that a position adds to a call, 0 if unknown."""

    def max_latency(self, leaves: int) -> float:
        """Return the seconds that the largest call takes, of `leaves` leaves or `SIZES[-1]`."""
        return (self.overhead + min(leaves, SIZES[-1])) * self.cost

    def leaves(self, visits: int) -> int:
        """Return the most leaves for a call when the root has this many visits."""
        best = self.overhead * (math.sqrt(1 + 2 * max(visits, 1) / self.overhead) - 1)
        return SIZES[max(0, bisect_right(SIZES, best) - 1)]

    @staticmethod
    def measure(evaluator: Evaluator, game: Any) -> "BatchSizer":
        """Time some calls of an evaluator from this thread, some milliseconds in all; `game` is the rules."""
        latencies = []
        for size in MEASURED:
            boards = np.zeros((size, game.POSITION_BYTES), np.int8)
            outputs = np.zeros((size, game.NUM_ACTIONS), np.float32), np.zeros(size, np.float32)
            with one_torch_thread():
                evaluate = partial(evaluator.evaluate, boards, *outputs)
                evaluate()  # prepares the size
                latencies.append(min(timeit.repeat(evaluate, number=1, repeat=CALLS)))
        cost, overhead = np.polyfit(MEASURED, latencies, 1)
        cost = max(float(cost), 1e-9)
        return BatchSizer(max(float(overhead) / cost, 0.1), cost)
