"""Search and learning: Monte-Carlo tree search, self-play, generations, matches, the engine.

Owns what happens between a network and a move. Knows nothing of terminals.
"""

from ckai.rl.engine import (
    Analysis,
    Engine,
    EngineError,
    Limit,
    Line,
    MoveMap,
    Policy,
    SearchResult,
    StopReason,
    Value,
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
