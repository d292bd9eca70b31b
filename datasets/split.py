"""Held-out games and position keys, both by hashing.

A game is held out by a hash of its number and the seed: the same game of the same source is always on the
same side, whatever else is in the data set, and the rows of a game are never on both sides. Games of
one file with the same moves share the number of the first of them (`RowFile.split_numbers`), and so their
side.
"""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.splitmix import GOLDEN, mix

Split: TypeAlias = Literal["train", "heldout", "all"]
Hashes: TypeAlias = NDArray[np.uint64]

_mix: Callable[[Hashes], Hashes] = mix


def check_share(name: str, share: float) -> None:
    """Check a share of the games to hold out.

    Args:
        name: of the setting, for the error.
        share: 0 <= share < 1.

    Raises:
        ValueError: it is out of range or NaN.
    """
    if not 0 <= share < 1:
        raise ValueError(f"expected {name} in [0, 1), found {share}")


def held_out(game: NDArray[Any], seed: int, share: float) -> NDArray[np.bool_]:
    """Which rows belong to held-out games.

    Args:
        game: `[N]` integers, number of each row's game, as `RowFile.split_numbers` gives it.
        seed: selects the games.
        share: expected share of the games to hold out, in [0, 1].

    Returns:
        `[N]` bool.
    """
    start = np.uint64(seed % 2**64)
    with np.errstate(over="ignore"):
        mixed = _mix(game.astype(np.int64).view(np.uint64) + _mix(np.atleast_1d(start) + GOLDEN) + GOLDEN)
    result: NDArray[np.bool_] = (mixed >> np.uint64(11)).astype(np.float64) * 2.0**-53 < share
    return result


def position_keys(board: NDArray[np.int8], jumper: NDArray[np.int8]) -> Hashes:
    """Hashes of positions, equal where board and jumper are; the halfmove clock does not count.

    Args:
        board: `[N, squares]` int8, mover's view.
        jumper: `[N]` int8.

    Returns:
        `[N]` uint64.
    """
    if board.shape[1] % 8:  # to whole words
        board = np.pad(board, ((0, 0), (0, -board.shape[1] % 8)))
    words = np.ascontiguousarray(board).view(np.uint64).reshape(-1, board.shape[1] // 8)
    with np.errstate(over="ignore"):
        key = _mix(jumper.astype(np.int64).view(np.uint64) + GOLDEN)
        for column in range(words.shape[1]):
            key = _mix((key ^ words[:, column]) + GOLDEN)
    return key
