"""Search and learning: Monte-Carlo tree search, self-play, generations, matches, the engine.

Owns what happens between a network and a move. Knows nothing of terminals.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ckai.rl.engine import Engine, Policy, SearchResult

__all__ = ["Engine", "Policy", "SearchResult"]


def __getattr__(name: str) -> Any:
    """The engine's names when they are asked for: importing settings of this room must not compile it."""
    if name in __all__:
        return getattr(importlib.import_module("ckai.rl.engine"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
