"""Limits of a search."""

from dataclasses import dataclass, fields

DEFAULT_VISITS = 400
"""Visits at the root of a search without a limit."""
MAX_COUNT = 2**31 - 1
"""Largest limit on visits, depth and nodes: the tree counts in 32 bits."""


class EngineError(RuntimeError):
    """Raised if an engine is closed or busy with another search; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """When a search ends: at the first of these that is reached; None is no limit.

    A search also ends when the root is proven, the tree is full or it is stopped.

    Raises:
        ValueError: a limit is out of range.

    Example:
        >>> Limit(visits=1000, seconds=0.5)
        Limit(visits=1000, seconds=0.5)
        >>> Limit(seconds=0)
        Traceback (most recent call last):
        ValueError: expected seconds > 0, found 0
    """

    visits: int | None = None
    """Visits at the root, 1 or more; those kept from an earlier search count."""
    seconds: float | None = None
    """Wall time of this call, above 0, for a whole move: all hops of a capture together. The root is always
    evaluated, and batches in flight are completed."""
    depth: int | None = None
    """Plies from the root to the deepest position in the tree (selective depth), 1 or more. A capture of
    several hops is 1 ply; the subtree kept from an earlier search counts."""
    nodes: int | None = None
    """Most positions that this search adds to the tree, 1 or more, those within a capture included."""

    def __post_init__(self) -> None:
        for name in ("visits", "depth", "nodes"):
            value = getattr(self, name)
            if value is None:
                continue
            if isinstance(value, bool) or not hasattr(value, "__index__") or not 1 <= value <= MAX_COUNT:
                raise ValueError(f"expected {name} from 1 to {MAX_COUNT:,}, found {value!r}")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"expected seconds > 0, found {self.seconds!r}")

    @property
    def by_time(self) -> bool:
        """Whether only time ends the search, or nothing does: its results depend on the machine."""
        return self.seconds is not None or (self.visits is None and self.nodes is None and self.depth is None)

    def __repr__(self) -> str:
        given = ((field.name, getattr(self, field.name)) for field in fields(self))
        return f"Limit({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"
