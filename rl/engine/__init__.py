"""The engine: a network and a search behind one object, its limits and its results.

May import `games`, `evaluators` and `search`.
"""

from ckai.rl.engine.analysis import Analysis
from ckai.rl.engine.engine import Engine
from ckai.rl.engine.limit import EngineError, Limit
from ckai.rl.engine.result import Line, MoveMap, Policy, SearchResult, StopReason, Value

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
