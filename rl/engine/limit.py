"""Limits of a search."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckai.rl.search.move_time import MoveTime

MAX_COUNT = 2**31 - 1
"""Largest limit on visits, depth and nodes: the tree counts in 32 bits."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """When a search ends: at the first of these that is reached; None is no limit, out of range a ValueError.

    A search also ends when the root is proven, the tree is full or it is stopped. What an earlier search left
    in the tree counts, but for `nodes`: to compare limits, call `Engine.new_game` before each.

    Example:
        >>> Limit(clock=60, increment=0.5)
        Limit(clock=60, increment=0.5)
        >>> Limit(seconds=0)
        Traceback (most recent call last):
        ValueError: expected seconds > 0, found 0
    """

    visits: int | None = None
    """Visits at the root, 1 or more; those kept from an earlier search count."""
    seconds: float | None = None
    """Wall time of this call, above 0, for a whole move: all hops of a capture together. The root is always
    evaluated, and batches in flight are completed."""
    clock: float | None = None
    """Seconds left to the side to move, of which the search takes a share; 0 or less: evaluates the root."""
    increment: float = 0.0
    """Seconds that the clock gains after the move, 0 or more."""
    remaining_moves: int | None = None
    """Moves to the next time control, this one included, 1 or more; None: the clock is for the whole game."""
    depth: int | None = None
    """Plies from the root to the deepest position in the tree (selective depth), 1 or more; a capture of
    several hops is 1 ply."""
    nodes: int | None = None
    """Most positions that this search adds to the tree, 1 or more, those within a capture included."""

    def __post_init__(self) -> None:
        for name in ("visits", "depth", "nodes", "remaining_moves"):
            whole = hasattr(count := getattr(self, name), "__index__") and not isinstance(count, bool)
            if count is not None and not (whole and 1 <= count <= MAX_COUNT):
                raise ValueError(f"expected {name} from 1 to {MAX_COUNT:,}, found {count!r}")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"expected seconds > 0, found {self.seconds!r}")
        if self.clock is not None and not math.isfinite(self.clock):
            raise ValueError(f"expected a finite clock, found {self.clock!r}")
        if not 0 <= self.increment < math.inf:
            raise ValueError(f"expected increment >= 0, found {self.increment!r}")
        if self.clock is None and (self.increment or self.remaining_moves is not None):
            raise ValueError("expected a clock with an increment or remaining_moves, found none")

    @property
    def given(self) -> frozenset[str]:
        """The names of the limits that are set."""
        names = ("visits", "seconds", "clock", "depth", "nodes")
        return frozenset(name for name in names if getattr(self, name) is not None)

    def move_time(self, plies: int, margin: float) -> "MoveTime | None":
        """Return the time of a move, see `ckai.rl.search.move_time.move_time`; None: time is not limited."""
        from ckai.rl.search.move_time import MoveTime, move_time  # which is slow to import

        times = None if self.seconds is None else MoveTime(self.seconds, self.seconds)
        if self.clock is None:
            return times
        shared = move_time(self.clock, self.increment, self.remaining_moves, plies, margin)
        return shared if times is None else MoveTime(*map(min, shared, times))

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in vars(self).items() if value != getattr(Limit, name))
        return f"Limit({', '.join(given)})"
