"""Limits of a search."""

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckai.rl.search.move_time import MoveTime

MAX_COUNT = 2**31 - 1
"""Largest limit on visits, depth and nodes: the tree counts in 32 bits."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """When a search ends: at the first of these that is reached; None is no limit.

    A search also ends when the root is proven, the tree is full or it is stopped. What an earlier search left
    in the tree counts, but for `nodes`: to compare limits, call `Engine.new_game` before each.

    Raises:
        ValueError: a limit is out of range.

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
    """Plies from the root to the deepest position in the tree (selective depth), 1 or more. A capture of
    several hops is 1 ply; the subtree kept from an earlier search counts."""
    nodes: int | None = None
    """Most positions that this search adds to the tree, 1 or more, those within a capture included."""

    def __post_init__(self) -> None:
        for name in ("visits", "depth", "nodes", "remaining_moves"):
            count = getattr(self, name)
            whole = hasattr(count, "__index__") and not isinstance(count, bool)
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
        named = ("visits", "seconds", "clock", "depth", "nodes")
        return frozenset(name for name in named if getattr(self, name) is not None)

    def move_time(self, plies: int, margin: float) -> "MoveTime | None":
        """Return the time of a move, see `ckai.rl.search.move_time.move_time`; None: time is not limited."""
        from ckai.rl.search.move_time import MoveTime, move_time  # which is slow to import

        most = math.inf if self.seconds is None else self.seconds
        if self.clock is None:
            return None if self.seconds is None else MoveTime(most, most)
        times = move_time(self.clock, self.increment, self.remaining_moves, plies, margin)
        return MoveTime(min(times.optimum, most), min(times.maximum, most))

    def __repr__(self) -> str:
        given = [field for field in fields(self) if getattr(self, field.name) != field.default]
        return f"Limit({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in given)})"
