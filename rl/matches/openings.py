"""Openings of matches, drawn at random as in checkers tournaments."""

from itertools import cycle, islice
from typing import Any

import numpy as np

from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


def draw_openings(count: int, seed: int, spec: GameSpec = DEFAULT_GAME) -> list[Any]:
    """Draw openings of a game without repetition: of three plies, then of four and more once all are used.

    They repeat only in games that have no others.

    Args:
        count: number of openings.
        seed: seed of the draw.
        spec: the game.
    """
    rng = np.random.default_rng(seed)
    drawn: dict[Any, Any] = {}
    plies = 3
    while len(drawn) < count:
        openings = [position for position in spec.openings(plies) if position.key not in drawn]
        if not openings:
            break
        drawn |= {openings[i].key: openings[i] for i in rng.permutation(len(openings)).tolist()}
        plies += 1
    return list(islice(cycle(drawn.values()), count))


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
