"""Starting positions of self-play: the initial position, or a balanced opening.

The start of a game depends on the run's seed and the number of the game alone.
"""

from typing import Any

import numpy as np

from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.rng import seed_stream
from ckai.rl.games.spec import GameSpec
from ckai.rl.selfplay.config import StartConfig


class Starts:
    """The starting position of every game of a generation: `starts(number)`."""

    def __init__(self, config: StartConfig, seed: int, spec: GameSpec = DEFAULT_GAME) -> None:
        """Compute the openings if they are needed; `seed` is of the generation."""
        self.config, self.seed, self.spec = config, seed, spec
        uses_openings = config.opening_share > 0
        self.openings = spec.openings(config.opening_plies) if uses_openings else ()

    def __call__(self, number: int) -> Any:
        """Return the starting position of game `number`."""
        rng = np.random.default_rng(seed_stream(self.seed, number))
        if rng.random() < self.config.opening_share:
            return self.openings[int(rng.integers(len(self.openings)))]
        return self.spec.position()
