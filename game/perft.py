"""Perft: the number of move paths to a depth, the standard check of a move generator."""

from ckai.game import kernels
from ckai.game.position import Position


def perft(position: Position, depth: int) -> int:
    """Count the paths of `depth` whole moves, 0 or more. Draw rules do not end a path.

    Two routes of a capture over different squares are two moves, even if they capture the same pieces.

    Raises:
        ValueError: if depth is negative.

    >>> from ckai.game import Position, perft
    >>> [perft(Position.start(), depth) for depth in range(6)]
    [1, 7, 49, 302, 1469, 7361]
    """
    if depth < 0:
        raise ValueError(f"expected depth >= 0, found {depth}")
    return _perft(position, depth, 3)


def _perft(position: Position, depth: int, split: int) -> int:
    """Split deep counts by their first moves: Ctrl-C cannot interrupt a kernel, but it stops this loop."""
    if depth == 0:
        return 1
    if split and depth > 6:
        return sum(_perft(position.push(move), depth - 1, split - 1) for move in position.legal_moves())
    return int(kernels.perft(position.own, position.opp, position.kings, position.jumper, depth))
