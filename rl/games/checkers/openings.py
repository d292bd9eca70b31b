"""Openings of checkers in which no side loses a man by force: alpha-beta on material says so for neither.

After three plies they are the 174 positions of the tournaments' ballot (`ckai.game.openings`).
"""

from functools import cache

import numpy as np

from ckai.game import HALFMOVE_LIMIT, Position
from ckai.game.material import UNBOUNDED, MaterialValues, alpha_beta
from ckai.rl.games.spec import positions_after

DEPTH = 8
"""Plies searched, captures at the end not counted."""
VALUES = MaterialValues(man=100, king=130, loss=1_000_000, loss_per_ply=1, halfmove_limit=HALFMOVE_LIMIT)
"""Values of pieces, here and for the alpha-beta player."""


@cache
def balanced_openings(plies: int = 3) -> tuple[Position, ...]:
    """Return the distinct positions after `plies` plies where no side loses a man by force."""
    after = positions_after(Position.start(), plies)
    return tuple(p for p in after if abs(material_value(p, DEPTH)) < VALUES.man)


def material_value(position: Position, depth: int) -> int:
    """Return the value for the side to move in `VALUES`; below depth 0 only captures are searched."""
    where = (position.own, position.opp, position.kings, position.jumper, position.halfmove_clock, depth)
    return int(alpha_beta(*map(np.int64, where), np.int64(-UNBOUNDED), np.int64(UNBOUNDED), VALUES))
