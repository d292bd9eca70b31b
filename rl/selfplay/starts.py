"""Where games of self-play begin: the first position, a balanced opening, or a position of expert games.

A game's start follows from the run's seed and its number alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.reader import RowFile
from ckai.datasets.schema import DatasetError
from ckai.game import Position
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import GameSpec

EXPERT_POSITIONS = 20_000
"""Kept in a run's folder, drawn once."""
LEAST_PIECES = 8
"""Positions of fewer are nearly over, and belong to the endgame tables."""


@dataclass(frozen=True, kw_only=True)
class StartConfig:
    """Shares of the games by where they begin; the rest begins at the first position.

    Raises:
        ValueError: a value out of range, named.
    """

    balanced: float = 0.5
    """Openings that lose nothing by force; in games of stones all openings."""
    plies: int = 3
    """Of these openings."""
    men: int = 0
    """Men that a side may lose by force in them; 0 = none."""
    experts: float = 0.0
    """Positions of the data set that the run was made with."""

    def __post_init__(self) -> None:
        for name in ("balanced", "experts"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"expected start {name} in [0, 1], found {getattr(self, name)}")
        if self.balanced + self.experts > 1:
            raise ValueError(
                f"expected shares of starts that sum to 1 or less, found {self.balanced} and {self.experts}"
            )
        if not 0 <= self.plies <= 5:
            raise ValueError(f"expected start plies from 0 to 5, found {self.plies}")
        if self.men < 0:
            raise ValueError(f"expected start men >= 0, found {self.men}")


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
        if config.experts and not experts:
            raise ValueError(f"expected expert positions for a share of {config.experts}, found none")
        self.config, self.seed, self.experts, self.spec = config, seed, experts, spec
        self.openings = spec.openings(config.plies, config.men) if config.balanced else ()

    def __call__(self, number: int) -> Any:
        """Where game `number` begins."""
        rng = np.random.default_rng(seed_stream(self.seed, number))
        draw = rng.random()
        if draw < self.config.balanced:
            return self.openings[int(rng.integers(len(self.openings)))]
        if draw < self.config.balanced + self.config.experts:
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
    weights = np.int64(1) << np.arange(32)
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
            own, opp, kings = (
                int(weights[pieces].sum()) for pieces in (board > 0, board < 0, np.abs(board) == 3)
            )
            position = Position(own, opp, kings, bool(black[i]), -1, 0)
            found[position.key] = position
    if not found:
        raise DatasetError(f"{path}: expected positions of {LEAST_PIECES} pieces or more, found none")
    order = rng.permutation(len(found))[:count]
    positions = list(found.values())
    return [positions[i] for i in order]
