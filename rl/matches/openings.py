"""Openings of matches, drawn by lot as in tournaments of checkers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec


def draw_openings(count: int, seed: int, spec: GameSpec = DEFAULT_GAME) -> list[Any]:
    """Draw `count` openings of a game, all different while there are that many, then all of them again."""
    openings: Sequence[Any] = spec.openings()
    rng = np.random.default_rng(seed)
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += rng.permutation(len(openings)).tolist()
    return [openings[i] for i in drawn[:count]]


def random_openings(count: int, plies: int, seed: int, spec: GameSpec = DEFAULT_GAME) -> list[Any]:
    """`count` positions after `plies` random moves, all different while there are that many.

    Draws are made with a seed; games that end on the way are not used.
    """
    rng = np.random.default_rng(seed)
    found: dict[Any, Any] = {}
    extra: list[Any] = []
    for _ in range(200 * count):
        position = spec.position()
        for _ in range(plies):
            moves = position.legal_moves()
            if not moves:
                break
            position = position.push(moves[rng.integers(len(moves))])
        if position.legal_moves():
            if position.key in found:
                extra.append(position)
            found.setdefault(position.key, position)
        if len(found) == count:
            break
    return (list(found.values()) + extra)[:count]
