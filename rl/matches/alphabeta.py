"""Alpha-beta on material: a small, clear opponent whose strength is its depth.

A man is worth 100, a king 130; among equal moves one is drawn at random. Depth is in plies, and captures are
followed to their end (`ckai.game.material`).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ckai.datasets.schema import DEFAULT_GAME_NAME
from ckai.game import Game, Move
from ckai.game.material import UNBOUNDED, alpha_beta
from ckai.rl.games.checkers.openings import VALUES
from ckai.rl.matches.players import MoveSide, Side


def move_values(game: Game, depth: int) -> dict[Move, int]:
    """The value of every legal move, to a depth of 1 or more plies; those below the best may be bounds."""
    values: dict[Move, int] = {}
    best = -UNBOUNDED
    for move in game.position.legal_moves():
        after = game.position.push(move)
        where = (
            np.int64(x) for x in (after.own, after.opp, after.kings, -1, after.halfmove_clock, depth - 1)
        )
        # One below the best: equals are to be found as such.
        value = -int(alpha_beta(*where, np.int64(-UNBOUNDED), np.int64(-best + 1), VALUES))
        values[move] = value
        best = max(best, value)
    return values


class _AlphaBetaSide(MoveSide):
    def __init__(self, boards: int, depth: int) -> None:
        super().__init__(boards)
        self.depth = depth

    def choose(self, game: Game, random: np.random.Generator) -> Move:
        values = move_values(game, self.depth)
        best = [move for move, value in values.items() if value == max(values.values())]
        return best[random.integers(len(best))]


@dataclass(frozen=True)
class AlphaBetaPlayer:
    """Alpha-beta on material to a depth in plies; of equal moves one by lot."""

    depth: int
    in_turn = False
    GAME: ClassVar[str] = DEFAULT_GAME_NAME

    def sit(self, boards: int) -> Side:
        """See `Player`."""
        return _AlphaBetaSide(boards, self.depth)
