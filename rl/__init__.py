"""Search and learning: Monte Carlo tree search, self-play, generations, matches, the engine.

Owns what happens between a network and a move; contains nothing of terminals. The names below are the public
ones; importing this package loads none of them until they are used.

Examples:
    >>> from ckai.rl import Engine, Limit
    >>> with Engine.load("uniform") as engine:
    ...     result = engine.search("W:W18:B14", limit=Limit(visits=50))
    >>> str(result.move), result.proven
    ('18x9', 'win')
"""

from typing import TYPE_CHECKING

from ckai.datasets.choices import lazy_exports

if TYPE_CHECKING:
    from ckai.rl.engine.base import (
        Analysis,
        Engine,
        Line,
        MoveMap,
        ResignsError,
        SearchResult,
        Stop,
        StopReason,
        Task,
        Value,
    )
    from ckai.rl.engine.limit import Limit
    from ckai.rl.engine.program import ProgramError
    from ckai.rl.engine.tree import TreeEngine
else:
    __getattr__, __dir__ = lazy_exports(__name__)

__all__ = [
    "Analysis",
    "Engine",
    "Limit",
    "Line",
    "MoveMap",
    "ProgramError",
    "ResignsError",
    "SearchResult",
    "Stop",
    "StopReason",
    "Task",
    "TreeEngine",
    "Value",
]
