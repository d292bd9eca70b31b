"""The material that each hop wins or loses by force, found by a small alpha-beta search: input planes.

For every legal action, the hop is played and a few more plies are searched by alpha-beta, followed by all
open captures (quiescence search): a few microseconds. AlphaGo's networks had such features too (ladders,
captures; Silver et al. 2016, extended data table 2).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import kernel
from ckai.game.kernels import apply_hop, legal_actions, read_board
from ckai.game.material import UNBOUNDED, MaterialValues, alpha_beta, material
from ckai.game.squares import NUM_ACTIONS, SQUARES

MOST = 6
"""Changes are capped at this many half men: anything beyond is won or lost anyway."""

VALUES = MaterialValues(man=2, king=3, loss=60, loss_per_ply=0, halfmove_limit=UNBOUNDED)
"""In half men; without the draw by move count."""


@kernel
def _append(positions, depths, out):
    actions = np.empty(NUM_ACTIONS, np.int16)
    width = positions.shape[1]
    for row in range(len(positions)):
        own, opp, kings = read_board(positions[row])
        now = material(own, opp, kings, VALUES)
        jumper = np.int64(positions[row, SQUARES])
        for i in range(legal_actions(own, opp, kings, jumper, actions)):
            o, p, k, j, _, passed = apply_hop(own, opp, kings, np.int64(0), np.int64(actions[i]))
            for n in range(len(depths)):
                value = alpha_beta(
                    o, p, k, j, np.int64(0), depths[n], np.int64(-UNBOUNDED), np.int64(UNBOUNDED), VALUES
                )
                change = (-value if passed else value) - now
                out[row, width + n * NUM_ACTIONS + actions[i]] = min(MOST, max(-MOST, change))


def append_changes(positions: NDArray[np.int8], depths: Sequence[int]) -> NDArray[np.int8]:
    """Append the change of material that every hop forces, in half men (a man is 2, a king 3), for the mover.

    Args:
        positions: `[B, P]` int8: 32 squares in the mover's view, the jumper, and anything.
        depths: plies searched after the hop, before captures only.

    Returns:
        `[B, P + 128 * len(depths)]` int8: the positions, then the changes of each depth in turn, in [-6, 6]
        and 0 for illegal actions.
    """
    # The kernel is compiled for arrays that can be written to.
    given = np.require(positions, requirements=["C", "W"])
    out = np.pad(given, ((0, 0), (0, len(depths) * NUM_ACTIONS)))
    _append(given, np.array(depths, np.int64), out)
    return out
