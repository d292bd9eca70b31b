"""Starting positions of self-play: the initial position, a balanced opening, or a position of expert games.

The start of a game depends on the run's seed and the number of the game alone.
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
"""Number of expert positions drawn for a run, once, and kept in its folder."""
MIN_PIECES = 8
"""Fewest pieces of an expert position; positions with fewer are nearly over."""


class Starts:
    """The starting position of every game of a generation: `starts(number)`."""

    def __init__(
        self, config: StartConfig, seed: int, experts: Sequence[Position] = (), spec: GameSpec = DEFAULT_GAME
    ) -> None:
        """Compute the openings if they are needed.

        Args:
            config: the shares.
            seed: of the generation.
            experts: positions of expert games to draw from.
            spec: the game.

        Raises:
            ValueError: the share of expert positions is above 0 and `experts` is empty.
        """
        if config.expert_share and not experts:
            raise ValueError(f"expected expert positions for a share of {config.expert_share}, found none")
        self.config, self.seed, self.experts, self.spec = config, seed, experts, spec
        uses_openings = config.opening_share > 0
        self.openings = spec.openings(config.opening_plies) if uses_openings else ()

    def __call__(self, number: int) -> Any:
        """Return the starting position of game `number`."""
        rng = np.random.default_rng(seed_stream(self.seed, number))
        draw = rng.random()
        if draw < self.config.opening_share:
            return self.openings[int(rng.integers(len(self.openings)))]
        if draw < self.config.opening_share + self.config.expert_share:
            return self.experts[int(rng.integers(len(self.experts)))]
        return self.spec.position()


def draw_expert_positions(path: Path, *, count: int = EXPERT_POSITIONS, seed: int = 0) -> list[Position]:
    """Draw distinct positions from the rows of a data set, none of them within a capture.

    Args:
        path: a Parquet file of rows of checkers.
        count: most positions to draw.
        seed: of the draw.

    Returns:
        Up to `count` positions of `MIN_PIECES` pieces or more, with a halfmove clock of 0.

    Raises:
        DatasetError: the file cannot be used, or has no such position.
    """
    file = RowFile(path)
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(file.rows, min(file.rows, 2 * count), replace=False))
    first, positions = 0, {}
    for group, rows in enumerate(file.group_rows):
        here = chosen[(chosen >= first) & (chosen < first + rows)] - first
        first += rows
        if not len(here):
            continue
        _, boards, jumpers = file.positions(group)
        black, hops = file.turns(group)
        for i in here[(hops[here] == 0) & (jumpers[here] < 0)]:
            board = boards[i]
            if np.count_nonzero(board) < MIN_PIECES:
                continue
            position = unpack_position(board, -1, 0, black=bool(black[i]))
            positions[position.key] = position
    if not positions:
        raise DatasetError(f"{path}: expected positions of {MIN_PIECES} pieces or more, found none")
    order = rng.permutation(len(positions))[:count]
    distinct = list(positions.values())
    return [distinct[i] for i in order]
