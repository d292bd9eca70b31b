"""Limits of a search."""

import math
from dataclasses import dataclass, fields

from ckai.rl.search.move_time import OVERHEAD, MoveTime, move_time

MAX_COUNT = 2**31 - 1
"""Largest limit on visits, depth and nodes: the tree counts in 32 bits."""


class EngineError(RuntimeError):
    """An engine is closed, is busy with another search or fails; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """When a search ends: at the first of these that is reached; None is no limit.

    A search also ends when the root is proven, the tree is full or it is stopped. What an earlier search left
    in the tree counts, but for `nodes`: to compare limits, call `Engine.new_game` before each.

    Raises:
        ValueError: a limit is out of range.

    Example:
        >>> Limit(visits=1000, seconds=0.5)
        Limit(visits=1000, seconds=0.5)
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
    """Seconds left on the clock of the side to move. The search takes a share of them (see
    `ckai.rl.search.move_time`), ends early when its first move can no longer change, and takes longer while
    the most visited move is not the one of the highest value. 0 or less: only the root is evaluated."""
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
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= value <= MAX_COUNT:
                raise ValueError(f"expected {name} from 1 to {MAX_COUNT:,}, found {value!r}")
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

    @property
    def by_time(self) -> bool:
        """Whether time limits the search, or nothing does, so that its results depend on the machine."""
        timed = self.seconds is not None or self.clock is not None
        return timed or (self.visits is None and self.nodes is None and self.depth is None)

    def move_time(self, plies: int, margin: float = OVERHEAD) -> MoveTime | None:
        """Return the time of the next move; None if time is not limited.

        Args:
            plies: plies played in the game so far.
            margin: see `ckai.rl.search.move_time.move_time`.
        """
        if self.clock is None:
            return None if self.seconds is None else MoveTime(self.seconds, self.seconds)
        times = move_time(self.clock, self.increment, self.remaining_moves, plies, margin)
        most = math.inf if self.seconds is None else self.seconds
        return MoveTime(min(times.optimum, most), min(times.maximum, most))

    def __repr__(self) -> str:
        given = [field for field in fields(self) if getattr(self, field.name) != field.default]
        return f"Limit({', '.join(f'{field.name}={getattr(self, field.name)!r}' for field in given)})"
