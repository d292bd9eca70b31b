"""Counts of self-play under way."""

from dataclasses import dataclass


@dataclass
class SelfPlayCounts:
    """What a run of self-play has done so far; read it at any time."""

    games: int = 0
    rows: int = 0
    evaluations: int = 0
    cache_hits: int = 0
    """Of the evaluations, those that the cache knew."""
    simulations: int = 0
    """Descents of a tree, those that ended in a proven position too."""
