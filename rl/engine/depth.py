"""Depth of a search tree in plies."""

import numpy as np

from ckai.game.jit import kernel


@kernel
def deepest_ply(nodes, first, last, plies):
    """Compute the depth of nodes `first` to `last - 1` and return the greatest.

    Depth counts turns, not actions: a capture of several hops is 1 ply, counted when the turn passes.

    Args:
        nodes: `[C]` NODE; a parent has a lower index than its children.
        first, last: range of nodes; the depths of the nodes before `first` must be in `plies` already.
        plies: `[C]` int16, depth of each node in plies from the root; filled for the range.

    Returns:
        The greatest depth in the range, 0 if the range is empty.
    """
    deepest = 0
    for node in range(first, last):
        parent = nodes[node].parent
        depth = 0
        if parent >= 0:
            depth = np.int64(plies[parent]) + (1 if nodes[node].sign < 0 else 0)
        plies[node] = depth
        deepest = max(deepest, depth)
    return deepest
