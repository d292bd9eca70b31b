"""The engine: what chooses a move, its limits and its results.

May import `games`, `evaluators`, `search` and `alphabeta`. The names below are loaded when they are used.
"""

from typing import TYPE_CHECKING

from ckai.datasets.lazy import lazy_exports

if TYPE_CHECKING:
    from ckai.rl.engine.analysis import Analysis
    from ckai.rl.engine.base import Engine, ResignsError
    from ckai.rl.engine.limit import EngineError, Limit
    from ckai.rl.engine.program import ProgramError
    from ckai.rl.engine.result import Line, MoveMap, Policy, SearchResult, StopReason, Value
    from ckai.rl.engine.stop import Stop
    from ckai.rl.engine.tree import TreeEngine
else:
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "analysis": ["Analysis"],
            "base": ["Engine", "ResignsError"],
            "limit": ["EngineError", "Limit"],
            "program": ["ProgramError"],
            "result": ["Line", "MoveMap", "Policy", "SearchResult", "StopReason", "Value"],
            "stop": ["Stop"],
            "tree": ["TreeEngine"],
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
