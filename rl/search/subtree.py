"""Keeping the subtree of the action played, in Numba."""

import numpy as np

from ckai.game.jit import hot
from ckai.rl.games import contract
from ckai.rl.search.arrays import PENDING
from ckai.rl.search.repetitions import append_history
from ckai.rl.search.transpositions import refill_transpositions


@hot
def keep_subtree(game, tree, e, scratch):
    """Make the child of root edge `e` the new root, keep its subtree and drop the other nodes.

    The history gains the old root. The new root keeps its `sign`: whether the action passed the turn.

    Args:
        game: the rules.
        tree: the tree, with no leaf in flight.
        e: index of a root edge.
        scratch: `[C, 2]` int32, overwritten.

    Returns:
        Whether there is a subtree. A child that does not exist or was never evaluated (it was proven when
        added) has none: then only its state and `sign` stand in node 0, for `reset`.
    """
    nodes, edges, moved = tree.nodes, tree.edges, scratch
    state = contract.load_state(game, nodes[0].state)
    new_root = edges[e].child
    if new_root < 0 or nodes[new_root].status == PENDING:
        after, passed = contract.play(game, state, edges[e].action)
        append_history(game, tree, state, after)
        contract.store_state(nodes[0].state, after)
        nodes[0].sign = -1 if passed else 1
        return False
    append_history(game, tree, state, contract.load_state(game, nodes[new_root].state))
    # A child always has a higher index than its parent: one pass in ascending order sees parents first, and
    # every node and edge moves to a lower index, which was read before.
    # moved[old node, 0] is its new index, -1 if dropped; moved[new node, 1] the old index of its first edge.
    kept, kept_edges, end = 0, 0, np.int64(tree.info[0].nodes)
    for node in range(new_root + 1):
        moved[node, 0] = -1
    for node in range(new_root, end):
        parent = -1
        if node > new_root:
            parent = moved[nodes[node].parent, 0]
            if parent < 0:
                moved[node, 0] = -1
                continue
        moved[node, 0] = kept
        first, count = nodes[node].first_edge, nodes[node].num_edges
        edge = -1
        if parent >= 0:
            # The parent's edges keep their order, so the offset from its first edge is the same.
            edge = nodes[node].parent_edge - moved[parent, 1] + nodes[parent].first_edge
            edges[edge].child = kept
        moved[kept, 1] = first
        nodes[kept] = nodes[node]
        nodes[kept].parent = parent
        nodes[kept].parent_edge = edge
        nodes[kept].first_edge = kept_edges
        for i in range(first, first + count):
            edges[kept_edges] = edges[i]
            edges[kept_edges].child = -1
            kept_edges += 1
        kept += 1
    tree.info[0].nodes = kept
    tree.info[0].edges = kept_edges
    tree.info[0].root_prepared = 0
    refill_transpositions(tree)
    return True
