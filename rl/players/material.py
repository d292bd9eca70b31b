"""Alpha-beta search of material: a simple opponent whose strength is its depth.

A man is worth 100, a king 130; ties are broken at random. Depth is in plies, with a quiescence search of
captures at the leaves (`ckai.game.material`).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.game import Game, Move
from ckai.game.material import UNBOUNDED, alpha_beta
from ckai.rl.games.checkers.openings import VALUES
from ckai.rl.games.clock import Clock
from ckai.rl.players.player import MoveSide, Side


def move_values(game: Game, depth: int) -> dict[Move, int]:
    """Return the value of every legal move for the side to move, in hundredths of a man.

    Values below the best may be upper bounds.

    Args:
        game: the game; only its current position counts.
        depth: depth in plies, at least 1.
    """
    values: dict[Move, int] = {}
    best = -UNBOUNDED
    for move in game.position.legal_moves():
        after = game.position.push(move)
        state = (
            np.int64(x) for x in (after.own, after.opp, after.kings, -1, after.halfmove_clock, depth - 1)
        )
        # The window is one below the best, so that ties are exact.
        value = -int(alpha_beta(*state, np.int64(-UNBOUNDED), np.int64(-best + 1), VALUES))
        values[move] = value
        best = max(best, value)
    return values


class _AlphaBetaSide(MoveSide):
    def __init__(self, boards: int, depth: int) -> None:
        super().__init__(boards)
        self.depth = depth

    def choose(self, game: Game, random: np.random.Generator, clock: Clock | None = None) -> Move:
        values = move_values(game, self.depth)
        best = [move for move, value in values.items() if value == max(values.values())]
        return best[random.integers(len(best))]


@dataclass(frozen=True)
class AlphaBetaPlayer:
    """Alpha-beta search of material to a depth in plies; ties are broken at random."""

    depth: int
    timed = False
    control = None
    GAME: ClassVar[str] = DEFAULT_GAME_NAME

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _AlphaBetaSide(boards, self.depth)
