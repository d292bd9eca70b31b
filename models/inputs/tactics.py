"""The material that each hop wins or loses by force, found by a small alpha-beta search: input planes.

For every legal action, the hop is played and a few more plies are searched by alpha-beta, followed by all
open captures (quiescence search). The result is the change of material for the side that plays the hop.
AlphaGo's networks had such features too (ladders, captures; Silver et al. 2016, extended data table 2). A
position takes a few microseconds.
"""

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import kernel
from ckai.game.kernels import apply_hop, legal_actions
from ckai.game.material import UNBOUNDED, MaterialValues, alpha_beta, material
from ckai.game.squares import NUM_ACTIONS, SQUARES

MOST = 12
"""Changes are capped at this many half men: anything beyond is won or lost anyway."""

VALUES = MaterialValues(man=2, king=3, loss=60, loss_per_ply=0, halfmove_limit=UNBOUNDED)
"""In half men; without the draw by move count."""


@kernel
def _changes(boards, jumpers, depth, out):
    actions = np.empty(NUM_ACTIONS, np.int16)
    out[:] = 0
    for row in range(len(boards)):
        own, opp, kings = np.int64(0), np.int64(0), np.int64(0)
        for i in range(SQUARES):
            piece = boards[row, i]
            bit = np.int64(1) << i
            if piece > 0:
                own |= bit
            elif piece < 0:
                opp |= bit
            if piece == 3 or piece == -3:
                kings |= bit
        now = material(own, opp, kings, VALUES)
        for i in range(legal_actions(own, opp, kings, np.int64(jumpers[row]), actions)):
            o, p, k, j, _, passed = apply_hop(own, opp, kings, np.int64(0), np.int64(actions[i]))
            value = alpha_beta(
                o, p, k, j, np.int64(0), depth, np.int64(-UNBOUNDED), np.int64(UNBOUNDED), VALUES
            )
            change = (-value if passed else value) - now
            out[row, actions[i]] = min(MOST, max(-MOST, change))


def material_changes(boards: NDArray[np.int8], jumpers: NDArray[np.int8], depth: int) -> NDArray[np.int8]:
    """The change of material that every hop forces, in half men (a man is 2, a king 3), for the mover.

    Args:
        boards: `[B, 32]` int8, mover's view: 1 own man, 3 own king, -1 / -3 the other's, 0 empty.
        jumpers: `[B]` int8, index of the piece that must continue a capture, -1 if none.
        depth: plies searched after the hop, before captures only.

    Returns:
        `[B, 128]` int8 in [-12, 12]; 0 for illegal actions.
    """
    out = np.empty((len(boards), NUM_ACTIONS), np.int8)
    _changes(boards, jumpers, depth, out)
    return out
