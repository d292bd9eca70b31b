"""Openings of matches, drawn at random as in checkers tournaments."""

from itertools import cycle, islice
from typing import Any

import numpy as np

from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


def draw_openings(count: int, seed: int, spec: GameSpec = DEFAULT_GAME) -> list[Any]:
    """Draw openings of a game without repetition: of three plies, then of four and more once all are used.

    They repeat only in games that have no others.
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
    """Draw positions after so many random moves, without repetition while there are enough."""
    rng = np.random.default_rng(seed)
    drawn: dict[Any, Any] = {}
    for _ in range(200 * count):
        position = spec.position()
        for _ in range(plies):
            if moves := position.legal_moves():
                position = position.push(moves[rng.integers(len(moves))])
        if position.legal_moves():
            drawn.setdefault(position.key, position)
        if len(drawn) == count:
            break
    return list(islice(cycle(drawn.values()), count))
