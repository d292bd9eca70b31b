"""The engine: what chooses a move, its limits and its results.

May import `games`, `evaluators`, `search` and `alphabeta`. The names below are loaded when they are used.
"""

from typing import TYPE_CHECKING

from ckai.datasets.lazy import lazy_exports

if TYPE_CHECKING:
    from ckai.rl.engine.analysis import Analysis
    from ckai.rl.engine.engine import Engine
    from ckai.rl.engine.limit import EngineError, Limit
    from ckai.rl.engine.result import Line, MoveMap, Policy, SearchResult, StopReason, Value
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "analysis": ["Analysis"],
            "engine": ["Engine"],
            "limit": ["EngineError", "Limit"],
            "result": ["Line", "MoveMap", "Policy", "SearchResult", "StopReason", "Value"],
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
    "SearchResult",
    "StopReason",
    "Value",
]
