"""Whole moves of a position: all legal ones, and the one that squares or text name.

Boards and `jumper` are in mover's view (`ckai.game.squares`); `black` is whether the side to move is Black.
"""

import re
from collections.abc import Sequence

import numpy as np

from ckai.game import kernels
from ckai.game.errors import MoveError
from ckai.game.moves import Move
from ckai.game.squares import SQUARES, index_of, square_of

_MOVE_TEXT = re.compile(r"\s*([0-9]{1,2})((?:\s*[-xX:\u2013*]\s*[0-9]{1,2})+)\s*\Z")


def all_moves(own: int, opp: int, kings: int, jumper: int, black: bool) -> tuple[Move, ...]:
    """Every legal whole move, in the order the kernels find them."""
    room = 64
    while True:
        actions = np.empty((room, kernels.MAX_HOPS), np.uint8)
        lengths = np.empty(room, np.int8)
        n = kernels.legal_paths(own, opp, kings, jumper, actions, lengths)
        if n <= room:
            break
        room = n
    return tuple(move_from_hops(opp, black, actions[i, : lengths[i]].tolist()) for i in range(n))


def move_from_hops(opp: int, black: bool, actions: Sequence[int]) -> Move:
    """The move made of legal hops, actions 0..127."""
    path = [actions[0] >> 2]
    captured = []
    for action in actions:
        middle = int(kernels.STEP_TO[action])
        if opp >> middle & 1:
            captured.append(square_of(middle, black))
            path.append(int(kernels.JUMP_TO[action]))
        else:
            path.append(middle)
    return Move(tuple(square_of(i, black) for i in path), tuple(actions), tuple(captured))


def move_along(own: int, opp: int, kings: int, jumper: int, black: bool, squares: Sequence[int]) -> Move:
    """The legal move from the first to the last of PDN `squares` that visits the others in order.

    Raises:
        MoveError: if no legal move fits ("is illegal"), or two or more do ("is ambiguous").
    """
    actions = np.empty(kernels.MAX_HOPS, np.uint8)
    path = np.array([index_of(s, black) for s in squares], np.int64)
    status, hops = kernels.resolve(own, opp, kings, jumper, path, len(path), actions)
    if status == kernels.AMBIGUOUS:
        raise MoveError("is ambiguous")
    if status != kernels.RESOLVED:
        raise MoveError("is illegal")
    return move_from_hops(opp, black, actions[:hops].tolist())


def read_squares(text: str) -> list[int]:
    """The PDN squares of a move's text such as `11-15` or `26x17x10`.

    Raises:
        MoveError: if the text is not a move; the message is "is not a move such as ...".

    >>> read_squares(" 26x17x10")
    [26, 17, 10]
    """
    squares = [int(s) for s in re.findall(r"\d+", text)] if _MOVE_TEXT.match(text) else []
    if not squares or not all(1 <= s <= SQUARES for s in squares):
        raise MoveError("is not a move such as 11-15 or 26x17x10")
    return squares
