"""Openings of matches, drawn at random as in checkers tournaments."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


def draw_openings(count: int, seed: int, spec: GameSpec = DEFAULT_GAME) -> list[Any]:
    """Draw openings of a game without repetition until all are used, then again.

    Args:
        count: number of openings.
        seed: seed of the draw.
        spec: the game.
    """
    openings: Sequence[Any] = spec.openings()
    rng = np.random.default_rng(seed)
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += rng.permutation(len(openings)).tolist()
    return [openings[i] for i in drawn[:count]]


def random_openings(count: int, plies: int, seed: int, spec: GameSpec = DEFAULT_GAME) -> list[Any]:
    """Draw positions after random moves, without repetition while there are enough.

    Games that end earlier are skipped.

    Args:
        count: number of positions.
        plies: number of random moves.
        seed: seed of the moves.
        spec: the game.
    """
    rng = np.random.default_rng(seed)
    distinct: dict[Any, Any] = {}
    repeated: list[Any] = []
    for _ in range(200 * count):
        position = spec.position()
        for _ in range(plies):
            moves = position.legal_moves()
            if not moves:
                break
            position = position.push(moves[rng.integers(len(moves))])
        if position.legal_moves():
            if position.key in distinct:
                repeated.append(position)
            distinct.setdefault(position.key, position)
        if len(distinct) == count:
            break
    return (list(distinct.values()) + repeated)[:count]
