"""Counts of a self-play run in progress."""

from dataclasses import dataclass


@dataclass
class SelfPlayCounts:
    """What self-play has done so far; may be read at any time, from any thread."""

    games: int = 0
    """Games finished."""
    rows: int = 0
    """Rows of these games, one per hop."""
    evaluations: int = 0
    """Positions evaluated."""
    simulations: int = 0
    """Simulations of all searches, those that ended in a proven position included."""
