"""The six classes of solved positions on which players of Connect-4 are compared, and their file.

The classes are those of P. Pons' test sets (2016), which AlphaZero.jl uses too: by the stones on the board
and by the plies until the end under best play. The positions are our own, see `ckai.rl.games.connect4.draws`.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ckai.datasets.files import whole_file
from ckai.rl.games.connect4 import kernels
from ckai.rl.games.connect4.book import DAMAGED
from ckai.rl.games.connect4.rules import Connect4
from ckai.rl.games.connect4.scores import solved_value
from ckai.rl.games.grid import GridMove, GridPosition
from ckai.rl.games.solving import SolvedPosition, SolvedValue

INSTALLED = Path(__file__).with_name("classes.npz")
"""The positions that are installed with ckai."""
CLASSES = ("Begin-Easy", "Begin-Medium", "Begin-Hard", "Middle-Easy", "Middle-Medium", "End-Easy")
PHASES = {"Begin": (8, 13), "Middle": (14, 28), "End": (29, 40)}
"""Fewest and most stones. There are few positions with fewer than 8, and each takes long."""
EASY, MEDIUM = 13, 28
"""Most plies until the end in easy and in medium positions."""


class Draw(NamedTuple):
    """A position drawn at random, solved."""

    phase: str
    own: int
    """Stones of the side to move."""
    taken: int
    """All stones."""
    score: int
    """For the side to move, see `ckai.rl.games.connect4.kernels`; `NO_SCORE` if it was drawn before."""
    moves: tuple[int, ...]
    """Scores of the seven columns, for the side to move; `NO_SCORE` for a full one; empty if the class of the
    position had enough."""

    @property
    def name(self) -> str:
        """Its class, one of `CLASSES`; empty if it was drawn before."""
        if self.score == kernels.NO_SCORE:
            return ""
        return class_of(self.taken.bit_count(), solved_value(self.score, self.taken.bit_count()))

    @property
    def key(self) -> int:
        """The key of the position or of its mirror image, whichever is smaller."""
        key = self.own + self.taken + kernels.BOTTOM
        return min(key, int(kernels.mirrored(np.int64(key))))


def class_of(stones: int, truth: SolvedValue) -> str:
    """Return the class of a position, one of `CLASSES`."""
    phase = next(name for name, (_, last) in PHASES.items() if stones <= last)
    length = "Easy" if truth.plies <= EASY else "Medium" if truth.plies <= MEDIUM else "Hard"
    return f"{phase}-{length}"


def save_draws(path: Path, draws: Sequence[Draw]) -> None:
    """Write positions to a file."""
    phases, scores = list(PHASES), [each.moves or (kernels.NO_SCORE,) * 7 for each in draws]
    with whole_file(path) as file:
        np.savez_compressed(
            file,
            phases=np.array([phases.index(each.phase) for each in draws], np.int8),
            states=np.array([(each.own, each.taken) for each in draws], np.int64).reshape(-1, 2),
            scores=np.array([each.score for each in draws], np.int8),
            moves=np.array(scores, np.int8).reshape(-1, 7),
        )


def load_draws(path: Path) -> list[Draw]:
    """Read positions from a file.

    Raises:
        ValueError: it is no such file.
    """
    phases = list(PHASES)
    try:
        with np.load(path, allow_pickle=False) as file:
            columns = [file[name].tolist() for name in ("phases", "states", "scores", "moves")]
        return [
            Draw(phases[phase], own, taken, score, tuple(moves) if set(moves) != {kernels.NO_SCORE} else ())
            for phase, (own, taken), score, moves in zip(*columns, strict=True)
        ]
    except (OSError, ValueError, KeyError, IndexError, TypeError, *DAMAGED) as error:
        raise ValueError(f"{path}: expected positions of Connect-4, found none ({error})") from error


@cache
def load_classes(path: Path = INSTALLED) -> dict[str, tuple[SolvedPosition, ...]]:
    """Read the positions of each class from a file.

    Raises:
        ValueError: see `load_draws`.
    """
    classes: dict[str, list[SolvedPosition]] = {name: [] for name in CLASSES}
    for draw in load_draws(path):
        if draw.moves:
            stones = draw.taken.bit_count()
            moves = {
                GridMove(column): solved_value(score, stones)
                for column, score in enumerate(draw.moves)
                if score != kernels.NO_SCORE
            }
            position = GridPosition(Connect4(), (draw.own, draw.own ^ draw.taken))
            classes[draw.name].append(SolvedPosition(position, moves))
    return {name: tuple(positions) for name, positions in classes.items()}
