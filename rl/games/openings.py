"""Openings: the distinct positions after a few plies."""

from typing import Any


def positions_after(first: Any, plies: int) -> list[Any]:
    """Return every distinct position after `plies` plies from a first one, in the order they are met.

    Args:
        first: a position as `ckai.rl.games.spec` describes.
        plies: 0 or more.
    """
    positions = {first.key: first}
    for _ in range(plies):
        after = [p.push(move) for p in positions.values() for move in p.legal_moves()]
        positions = {p.key: p for p in after}
    return list(positions.values())
