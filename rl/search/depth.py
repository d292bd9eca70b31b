"""How deep a tree is."""

import numpy as np

from ckai.game.jit import kernel


@kernel
def deepest_ply(nodes, first, last, plies):
    """Fill in how many plies nodes `first` to `last` are from the root; return the most among them.

    A hop after which the same side goes on is no ply of its own.

    Args:
        nodes: `[C]` NODE; parents stand before their children.
        first, last: the nodes to look at; those before `first` are filled in.
        plies: `[C]` int16, written to.
    """
    most = 0
    for node in range(first, last):
        parent = nodes[node].parent
        depth = 0
        if parent >= 0:
            depth = np.int64(plies[parent]) + (1 if nodes[node].sign < 0 else 0)
        plies[node] = depth
        most = max(most, depth)
    return most
