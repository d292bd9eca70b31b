"""From hops, which the search plays, to whole moves."""

from collections.abc import Sequence
from typing import Any


def whole_moves(position: Any, actions: Sequence[int]) -> list[Any]:
    """Return the moves that a line of hops makes.

    Args:
        position: the position before the line, with a legal move.
        actions: the hops, 1 or more; a capture at the end may be incomplete.

    Returns:
        One move or more. A last capture that is incomplete is left out, but for the first move of the line,
        which then is the first legal move that begins with these hops.
    """
    moves: list[Any] = []
    hops: list[int] = []
    for action in actions:
        hops.append(action)
        move = position.move_of(hops)
        if move is not None:
            moves.append(move)
            position, hops = position.push(move), []
    if moves:
        return moves
    return [next(move for move in position.legal_moves() if list(move.actions[: len(hops)]) == hops)]
