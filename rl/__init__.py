"""Search and learning: Monte-Carlo tree search, self-play, generations, matches, the engine.

Owns what happens between a network and a move. Knows nothing of terminals.
"""

from ckai.rl.engine import Engine, Policy, SearchResult

__all__ = ["Engine", "Policy", "SearchResult"]
