"""Openings of checkers: those that have names, and the balanced ones, where no side loses a man by force.

The names are those of the game's literature, where each of the seven first moves has one; Black begins.

Tournaments draw their openings at random from the three-move ballot; of all positions after three plies 174
lose no man by force, and the ballot has as many. A man is lost by force where alpha-beta on material says so
for either side.
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
def balanced_openings(plies: int = 3, depth: int = DEPTH) -> tuple[Position, ...]:
    """Return the distinct positions after `plies` plies where no side loses a man by force.

    Args:
        plies: 0 or more.
        depth: plies searched, captures that go on not counted.
    """
    after = positions_after(Position.start(), plies)
    return tuple(p for p in after if abs(material_value(p, depth)) < VALUES.man)


def material_value(position: Position, depth: int) -> int:
    """Return the value for the side to move in `VALUES`; below depth 0 only captures are searched."""
    where = (position.own, position.opp, position.kings, position.jumper, position.halfmove_clock, depth)
    return int(alpha_beta(*map(np.int64, where), np.int64(-UNBOUNDED), np.int64(UNBOUNDED), VALUES))


_LINES = {
    "Old Faithful": "11-15",
    "Bristol": "11-16",
    "Edinburgh": "9-13",
    "Double Corner": "9-14",
    "Denny": "10-14",
    "Kelso": "10-15",
    "Dundee": "12-16",
    "Single Corner": "11-15 22-18",
    "Cross": "11-15 23-18",
    "Switcher": "11-15 21-17",
    "Second Double Corner": "11-15 24-19",
    "Ayrshire Lassie": "11-15 24-20",
    "Dyke": "11-15 22-17 15-19",
    "Maid of the Mill": "11-15 22-17 8-11 17-13 15-18",
    "Will o' the Wisp": "11-15 23-19 9-13",
    "Defiance": "11-15 23-19 9-14 27-23",
    "Fife": "11-15 23-19 9-14 22-17 5-9",
    "Souter": "11-15 23-19 9-14 22-17 6-9",
    "Whilter": "11-15 23-19 9-14 22-17 7-11",
    "Old Fourteenth": "11-15 23-19 8-11 22-17 4-8",
    "Laird and Lady": "11-15 23-19 8-11 22-17 9-13 17-14",
    "Glasgow": "11-15 23-19 8-11 22-17 11-16",
    "Bristol Cross": "11-16 23-18",
    "Kelso Cross": "10-15 23-18",
}

OPENING_NAMES: dict[str, tuple[str, ...]] = {name: tuple(line.split()) for name, line in _LINES.items()}
"""Moves by name."""
