"""Where games of self-play begin: the first position, a balanced opening, or a position of expert games.

A game's start follows from the run's seed and its number alone.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.reader import RowFile
from ckai.datasets.schema import DatasetError
from ckai.game import Position
from ckai.models.inputs.packing import unpack_position
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.config import StartConfig

EXPERT_POSITIONS = 20_000
"""Kept in a run's folder, drawn once."""
LEAST_PIECES = 8
"""Positions of fewer are nearly over, and belong to the endgame tables."""


class Starts:
    """The first position of every game of a generation."""

    def __init__(
        self, config: StartConfig, seed: int, experts: Sequence[Position] = (), spec: GameSpec = DEFAULT_GAME
    ) -> None:
        """Compute what is needed.

        Args:
            config: the shares.
            seed: of the generation.
            experts: positions to draw from.
            spec: the game.

        Raises:
            ValueError: a share of expert positions and none given.
        """
        if config.expert_share and not experts:
            raise ValueError(f"expected expert positions for a share of {config.expert_share}, found none")
        self.config, self.seed, self.experts, self.spec = config, seed, experts, spec
        wanted = config.opening_share > 0
        self.openings = spec.openings(config.opening_plies, config.max_men_lost) if wanted else ()

    def __call__(self, number: int) -> Any:
        """Where game `number` begins."""
        rng = np.random.default_rng(seed_stream(self.seed, number))
        draw = rng.random()
        if draw < self.config.opening_share:
            return self.openings[int(rng.integers(len(self.openings)))]
        if draw < self.config.opening_share + self.config.expert_share:
            return self.experts[int(rng.integers(len(self.experts)))]
        return self.spec.position()


def draw_expert_positions(path: Path, *, count: int = EXPERT_POSITIONS, seed: int = 0) -> list[Position]:
    """Positions of a data set by lot, all different, between two moves.

    Raises:
        DatasetError: data that cannot be used, or no such position.
    """
    file = RowFile(path)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(file.rows, min(file.rows, 2 * count), replace=False))
    first, found = 0, {}
    for group, rows in enumerate(file.group_rows):
        here = chosen[(chosen >= first) & (chosen < first + rows)] - first
        first += rows
        if not len(here):
            continue
        _, boards, jumpers = file.positions(group)
        black, hops = file.turns(group)
        for i in here[(hops[here] == 0) & (jumpers[here] < 0)]:
            board = boards[i]
            if np.count_nonzero(board) < LEAST_PIECES:
                continue
            position = unpack_position(board, -1, 0, black=bool(black[i]))
            found[position.key] = position
    if not found:
        raise DatasetError(f"{path}: expected positions of {LEAST_PIECES} pieces or more, found none")
    order = rng.permutation(len(found))[:count]
    positions = list(found.values())
    return [positions[i] for i in order]
