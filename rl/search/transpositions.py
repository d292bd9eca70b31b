"""Transpositions: positions that a tree has evaluated already, by another order of moves, in Numba.

The network's answer depends on the state alone. So a new node whose state was evaluated before takes that
node's priors and network value and is backed up at once. Nothing else is shared: the two have their own
visits, values and proofs, because repetitions depend on the path.

A hash table with linear probing gives the node of a state. It is at most half full, and grows with the tree
within the memory that is set aside: a small table stays in the caches. What it finds depends on the tree
alone, not on its size. Where its memory has no entries, every node is evaluated.

Arguments are named as in `ckai.rl.search.mcts`.
"""

import numpy as np

from ckai.datasets.split import MIX_1
from ckai.game.jit import hot, inner, prefetch
from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import OPEN

MIN_ENTRIES = 512
"""Entries of the table of a new tree."""
LOW = np.uint64(0xFFFFFFFF)
"""The bits of an entry that are the index of a node; above them are bits of the hash. An empty entry is 0:
node 0, the root, is never entered."""
HALF = np.uint64(32)


@hot
def prefetch_transposition(tree, state):
    """Prefetch where the node of a state would be in the table."""
    if len(tree.transpositions) > 0:
        prefetch(tree.transpositions, place_of(hash_of(state), tree.info[0].table_size))


@hot
def share_evaluation(tree, node):
    """Make a new node OPEN if there is an evaluated node with its state and its actions.

    A proven node does not count: its value sum has more in it than the network's value and what its edges
    brought. Nor does the root, whose priors may have noise. If there is none, later calls find `node`, once
    it is evaluated.

    Returns (whether the node is OPEN, with priors; the network's value, for the side to move there).
    """
    if len(tree.transpositions) == 0:
        return False, 0.0
    other = find_or_enter(tree, node)
    if other == node or tree.nodes[other].status != OPEN:
        return False, 0.0
    first, other_first = np.int64(tree.nodes[node].first_edge), np.int64(tree.nodes[other].first_edge)
    for i in range(np.int64(tree.nodes[node].num_edges)):
        tree.edges[first + i].prior = tree.edges[other_first + i].prior
    tree.nodes[node].status = OPEN
    return True, network_value(tree, other)


@inner
def refill_transpositions(tree):
    """Fill the table of a tree whose nodes have moved."""
    if len(tree.transpositions) == 0:
        return
    count = np.int64(tree.info[0].nodes)
    size = MIN_ENTRIES
    while size < 4 * count:
        size *= 2
    empty_table(tree, size)
    for node in range(1, count):
        find_or_enter(tree, np.int64(node))


@hot
def are_equal(tree, node, other):
    """Return whether two nodes have the same state and the same actions: earlier states may forbid some."""
    for i in range(len(tree.nodes[node].state)):
        if tree.nodes[node].state[i] != tree.nodes[other].state[i]:
            return False
    first, other_first = np.int64(tree.nodes[node].first_edge), np.int64(tree.nodes[other].first_edge)
    if tree.nodes[node].num_edges != tree.nodes[other].num_edges:
        return False
    for i in range(np.int64(tree.nodes[node].num_edges)):
        if tree.edges[first + i].action != tree.edges[other_first + i].action:
            return False
    return True


@inner
def network_value(tree, node):
    """Return the network's value of an OPEN node that is not proven, for the side to move there.

    It is what is left of the node's value sum without those of its edges, rounded to the float32 that it was.
    """
    first, value = np.int64(tree.nodes[node].first_edge), tree.nodes[node].value_sum
    for e in range(first, first + np.int64(tree.nodes[node].num_edges)):
        value -= tree.edges[e].value_sum
    return np.float64(np.float32(value))


@hot
def hash_of(state):
    """Return a hash of a state, uint64; it is a tuple of words, or an array."""
    mixed = np.uint64(0)
    for i in range(len(state)):
        mixed = (mixed ^ np.uint64(state[i])) * MIX_1
        mixed ^= mixed >> HALF
    return mixed


@hot
def place_of(mixed, size):
    """Return where a hash belongs in a table of so many entries."""
    # The upper half of a product: a remainder without a division.
    return np.int64((mixed & LOW) * np.uint64(size) >> HALF)


@hot
def next_place(tree, place):
    """Return the entry after another."""
    place += 1
    return np.int64(0 if place == tree.info[0].table_size else place)


@hot
def find_or_enter(tree, node):
    """Return the equal node that the table has, unless it is proven; else `node`, which it has now.

    The table grows once it is half full.
    """
    mixed = hash_of(tree.nodes[node].state)
    place = place_of(mixed, tree.info[0].table_size)
    entry = tree.transpositions[place]
    while entry != 0 and ((entry ^ mixed) >> HALF != 0 or not are_equal(tree, node, np.int64(entry & LOW))):
        place = next_place(tree, place)
        entry = tree.transpositions[place]
    other = np.int64(entry & LOW)
    if other != 0 and tree.nodes[other].proof == NONE:
        return other
    tree.info[0].table_used += entry == 0
    tree.transpositions[place] = (mixed & ~LOW) | np.uint64(node)
    size = tree.info[0].table_size
    if 2 * tree.info[0].table_used > size and size < len(tree.transpositions):
        enlarge(tree, 2 * np.int64(size))
    return node


@inner
def empty_table(tree, size):
    """Empty the table and give it a size, as far as its memory allows."""
    size = min(size, len(tree.transpositions))
    tree.info[0].table_size = size
    tree.info[0].table_used = 0
    for place in range(size):
        tree.transpositions[place] = 0


@inner
def enlarge(tree, size):
    """Give the table another size; its entries stay."""
    entries = tree.transpositions[: tree.info[0].table_size].copy()
    empty_table(tree, size)
    size = tree.info[0].table_size
    for entry in entries:
        if entry != 0:
            place = place_of(hash_of(tree.nodes[np.int64(entry & LOW)].state), size)
            while tree.transpositions[place] != 0:
                place = next_place(tree, place)
            tree.transpositions[place] = entry
            tree.info[0].table_used += 1
