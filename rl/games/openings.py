"""Enumeration of the distinct positions after a number of plies."""

from typing import Any


def positions_after(first: Any, plies: int) -> list[Any]:
    """Return the distinct positions after exactly `plies` plies, in breadth-first order.

    Args:
        first: the starting position, a `ckai.rl.games.spec.GamePosition`.
        plies: 0 or more.
    """
    positions = {first.key: first}
    for _ in range(plies):
        after = [p.push(move) for p in positions.values() for move in p.legal_moves()]
        positions = {p.key: p for p in after}
    return list(positions.values())
