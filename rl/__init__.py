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

from ckai.datasets.lazy import lazy_exports

if TYPE_CHECKING:
    from ckai.rl.engine import (
        Analysis,
        Engine,
        EngineError,
        Limit,
        Line,
        MoveMap,
        Policy,
        ProgramError,
        ResignsError,
        SearchResult,
        Stop,
        StopReason,
        TreeEngine,
        Value,
    )
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "engine": [
                "Analysis",
                "Engine",
                "EngineError",
                "Limit",
                "Line",
                "MoveMap",
                "Policy",
                "ProgramError",
                "ResignsError",
                "SearchResult",
                "Stop",
                "StopReason",
                "TreeEngine",
                "Value",
            ]
        },
    )

__all__ = [
    "Analysis",
    "Engine",
    "EngineError",
    "Limit",
    "Line",
    "MoveMap",
    "Policy",
    "ProgramError",
    "ResignsError",
    "SearchResult",
    "Stop",
    "StopReason",
    "TreeEngine",
    "Value",
]
