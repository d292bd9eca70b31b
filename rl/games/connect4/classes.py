"""The six classes of solved positions on which players of Connect-4 are compared, and their file.

The classes are those of P. Pons' test sets (2016), which AlphaZero.jl uses too: by the stones on the board
and by the plies until the end under best play. The positions are our own, drawn at
random by `benchmarks/games/connect4.py`.
"""

from pathlib import Path

import numpy as np

from ckai.rl.games.connect4.book import DAMAGED
from ckai.rl.games.connect4.kernels import NO_SCORE, SQUARES
from ckai.rl.games.connect4.rules import Connect4
from ckai.rl.games.grid import GridMove, GridPosition
from ckai.rl.games.solving import SolvedPosition, SolvedValue

INSTALLED = Path(__file__).with_name("classes.npz")
"""The positions that are installed with ckai."""
CLASSES = ("Begin-Easy", "Begin-Medium", "Begin-Hard", "Middle-Easy", "Middle-Medium", "End-Easy")
PHASES = {"Begin": (8, 13), "Middle": (14, 28), "End": (29, 40)}
"""Fewest and most stones. There are few positions with fewer than 8, and each takes long."""
EASY, MEDIUM = 13, 28
"""Most plies until the end in easy and in medium positions."""


def solved_value(score: int, stones: int) -> SolvedValue:
    """Return what a score says.

    Args:
        score: for the side to move, see `ckai.rl.games.connect4.kernels`.
        stones: on the board.
    """
    if not score:
        return SolvedValue(0, SQUARES - stones)
    if score > 0:
        return SolvedValue(1, 2 * (SQUARES // 2 + 1 - score - stones // 2) - 1)
    return SolvedValue(-1, 2 * (SQUARES // 2 + 1 + score - (stones + 1) // 2))


def class_of(stones: int, truth: SolvedValue) -> str:
    """Return the class of a position, one of `CLASSES`."""
    phase = next(name for name, (_, last) in PHASES.items() if stones <= last)
    length = "Easy" if truth.plies <= EASY else "Medium" if truth.plies <= MEDIUM else "Hard"
    return f"{phase}-{length}"


def read_classes(path: Path) -> dict[str, tuple[SolvedPosition, ...]]:
    """Read the positions of each class from a file.

    The arrays of the file: `states`, `[n, 2]` int64, stones of the side to move and all stones; `scores`,
    `[n]` int8, for the side to move; `moves`, `[n, 7]` int8, the score of each column for the side to move,
    `NO_SCORE` for a full one. Draws whose columns all are `NO_SCORE` are of a class that had enough.

    Raises:
        ValueError: it is no such file.
    """
    classes: dict[str, list[SolvedPosition]] = {name: [] for name in CLASSES}
    try:
        with np.load(path, allow_pickle=False) as file:
            columns = [file[name].tolist() for name in ("states", "scores", "moves")]
        for (own, taken), score, scores in zip(*columns, strict=True):
            stones = taken.bit_count()
            moves = {
                GridMove(column): solved_value(each, stones)
                for column, each in enumerate(scores)
                if each != NO_SCORE
            }
            if moves:
                position = GridPosition(Connect4(), (own, own ^ taken))
                name = class_of(stones, solved_value(score, stones))
                classes[name].append(SolvedPosition(position, moves))
    except (OSError, ValueError, KeyError, IndexError, TypeError, StopIteration, *DAMAGED) as error:
        raise ValueError(f"{path}: expected positions of Connect-4, found none ({error})") from error
    return {name: tuple(positions) for name, positions in classes.items()}
