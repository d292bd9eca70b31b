"""Kernels over a batch of trees: collect leaves to evaluate, back their values up, move the roots.

In every kernel `trees` is a `TreeBatch`, `t` the index of one of its trees, and `tree` that `Tree`; `game` is
the rules and `constants` the `SearchConstants`. Indices of edges (`e`) and nodes (`node`) are those within a
tree.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import borrowed, choose, hot, kernel, prefetch
from ckai.models.inference.integers import CACHE_LINE
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE, State
from ckai.rl.search.arrays import EDGE, OPEN, PATH, TreeBatch
from ckai.rl.search.mcts import (
    BACKED_UP,
    COLLISION,
    LEAF,
    add_in_flight,
    backup,
    best_root_edge,
    descend,
    ends_descent,
    get_tree,
    keep_subtree,
    logits_to_priors,
    prepare,
    reset,
)
from ckai.rl.search.selection import puct_edge

BLOCK = 32
"""Trees that are gone through in step: enough to hide the latency of memory, few enough for the first
caches."""
EDGES_PER_LINE = CACHE_LINE // EDGE.itemsize
USUAL_LINES = 4
"""Cache lines with the edges of most nodes."""
AHEAD = 8
"""Leaves from the one that is expanded to the one that is prefetched. One at a time: many at once fill the
CPU's queue of reads, and it waits."""


@hot
def prefetch_edges(trees, t, first, count):
    """Prefetch edges `first` to `first + count - 1` of tree `t`."""
    last = first + count - 1
    # A line too many costs less than a branch, which the CPU would often guess wrong.
    for line in range(USUAL_LINES):
        prefetch(trees.edges, t, min(first + line * EDGES_PER_LINE, last))
    for e in range(first + USUAL_LINES * EDGES_PER_LINE, last, EDGES_PER_LINE):
        prefetch(trees.edges, t, e)
    prefetch(trees.edges, t, last)  # the range may begin within a line


@hot
def prefetch_leaves(trees, slots, first, end):
    """Prefetch what `expand_slot` reads of slots `first` to `end - 1`, on the way to the root too."""
    for i in range(first, end):
        slot = slots[i]
        t = np.int64(slot.tree)
        prefetch(trees.nodes, t, np.int64(slot.node))
        prefetch_edges(trees, t, np.int64(slot.first_edge), np.int64(slot.num_edges))
        prefetch(trees.nodes, t, 0)
        for level in range(PATH):
            prefetch(trees.edges, t, np.int64(slot.path_edges[level]))
            prefetch(trees.nodes, t, np.int64(slot.path[level]))


@hot
def can_traverse(trees, t, target_visits):
    """Return whether tree `t` continues with a traversal: its root is ready and lacks visits."""
    root = trees.nodes[t, 0]
    return (
        root.status == OPEN
        and root.proof == NONE
        and trees.info[t].root_prepared != 0
        and root.visits + root.in_flight < target_visits
    )


@hot
def traverse_trees(trees, first, count, constants, nodes, edges, active_trees):
    """Walk in trees `first` to `first + count - 1` to where their next descent ends, level by level.

    The next level of one tree is on its way from memory while the others select. Nothing in the trees is
    changed. `nodes` and `edges`, `[count]` int64, are filled with the ends: entries of `nodes` are 0 where to
    begin, else -1, and stay so. `active_trees`, `[count]` int64, is overwritten.
    """
    # Which trees continue is unpredictable: `active_trees` lists them, so nothing in the loops branches.
    active = 0
    for i in range(count):
        active_trees[active] = i
        active += nodes[i] >= 0
        edges[i] = -1
    while active > 0:
        for k in range(active):
            i = active_trees[k]
            tree = get_tree(trees, first + i)
            e = np.int64(puct_edge(tree, nodes[i], constants))
            edges[i] = e
            prefetch(trees.nodes, first + i, np.int64(tree.edges[e].child))
        still_active = 0
        for k in range(active):
            i = active_trees[k]
            tree = get_tree(trees, first + i)
            child = np.int64(tree.edges[edges[i]].child)
            ends = (child < 0) | ends_descent(tree, max(child, 0))
            here = tree.nodes[max(child, 0)]
            prefetch_edges(trees, first + i, np.int64(here.first_edge), np.int64(here.num_edges))
            nodes[i] = choose(ends, nodes[i], child)
            active_trees[still_active] = i
            still_active += not ends
        active = still_active


@hot
def expand_slot(trees, slots, slot, logits, values):
    """Expand the leaf in a slot with its priors, and back its value up; see `expand_and_backup`.

    Returns 0.0, or NaN if the value or a logit of a legal action is not finite, minus infinity apart.
    """
    tree = get_tree(trees, np.int64(slots[slot].tree))
    node = np.int64(slots[slot].node)
    first, count = tree.nodes[node].first_edge, tree.nodes[node].num_edges
    for e in range(first, first + count):
        tree.edges[e].prior = logits[slot, tree.edges[e].action]
    total = logits_to_priors(tree, node)
    value = np.float64(values[slot])
    tree.nodes[node].status = OPEN
    backup(tree, node, min(1.0, max(-1.0, value)), 1)
    return (total - total) + (value - value)


@kernel
def expand_and_backup(trees, slots, logits, values):
    """Expand the first `slots` leaves of the batch with their priors, and back their values up.

    `logits` is `[B, NUM_ACTIONS]` float32: the priors are their softmax over the legal actions; `values`
    `[B]` float32 for the side to move at the leaf, clipped to [-1, 1]. Returns whether all of these are
    finite; if not, the trees of this batch must not be searched on.
    """
    trees, logits, values = borrowed(trees), borrowed(logits), borrowed(values)
    not_finite = 0.0  # becomes NaN: a branch in the loop would cost more than it saves
    prefetch_leaves(trees, trees.slots, 0, min(AHEAD, slots))
    for slot in range(slots):
        prefetch_leaves(trees, trees.slots, slot + AHEAD, min(slot + AHEAD + 1, slots))
        not_finite += expand_slot(trees, trees.slots, slot, logits, values)
    return not_finite == 0.0


@hot
def add_leaf(game, trees, t, slot, node):
    """Add node `node` to the batch, in `slot`; return the next slot."""
    place, here = trees.slots[slot], trees.nodes[t, node]
    place.tree = t
    place.node = node
    place.first_edge = here.first_edge
    place.num_edges = here.num_edges
    contract.encode(game, contract.load_state(game, here.state), trees.boards[slot])
    above = np.int64(node)
    for level in range(PATH):
        here = trees.nodes[t, above]
        above = max(np.int64(here.parent), 0)
        place.path_edges[level] = max(here.parent_edge, 0)
        place.path[level] = above
    return slot + 1


@hot
def select_leaves(game, trees, t, constants, target_visits, max_leaves, slot, collisions, node, e):
    """Run simulations in tree `t` up to their evaluation, and add their leaves to the batch from `slot` on.

    Ends when the root has `target_visits` (visits in flight included), is proven, `max_leaves` were added,
    the tree is full, or every descent ends at a leaf that is in flight already. `collisions`,
    `[max_leaves]` int32, is overwritten; `node` and `e` are where the first descent ends, -1 if that is
    unknown (see `traverse_trees`). Numbers are int64. Returns the next free slot.
    """
    tree = get_tree(trees, t)
    added, num_collisions = 0, 0
    prepare(game, tree, constants)
    target_visits -= tree.nodes[0].in_flight
    max_collisions = max_leaves if max_leaves > 1 else 0
    while added < max_leaves and tree.nodes[0].visits + added < target_visits and tree.nodes[0].proof == NONE:
        ending, node = descend(game, tree, constants, node, e)
        e = np.int64(-1)
        if ending == LEAF:
            slot = add_leaf(game, trees, t, slot, node)
            added += 1
            if node == 0:
                break
        elif ending == COLLISION and node > 0 and num_collisions < max_collisions:
            # Count the leaf as in flight once more while the batch is filled, so that the next descent goes
            # elsewhere.
            add_in_flight(tree, node, 1)
            collisions[num_collisions] = node
            num_collisions += 1
        elif ending != BACKED_UP:
            break
    for i in range(num_collisions):
        add_in_flight(tree, np.int64(collisions[i]), -1)
    return slot


@kernel
def select_all_leaves(game, trees, constants, target_visits, leaves, visits_per_leaf):
    """Fill the batch with at most `leaves` leaves of every tree; return their number.

    `target_visits` is `[T]` int32, see `select_leaves`; `visits_per_leaf` 0, or the root visits that allow
    one more leaf: leaves selected together do not profit from each other's values.
    """
    game, trees = borrowed(game), borrowed(trees)
    slot = np.int64(0)
    collisions = np.empty(leaves, np.int32)
    unknown = np.int64(-1)
    for t in range(len(target_visits)):
        most = leaves
        if visits_per_leaf > 0:
            most = min(leaves, max(1, trees.nodes[t, 0].visits // visits_per_leaf))
        target = np.int64(target_visits[t])
        slot = select_leaves(
            game, trees, t, constants, target, np.int64(most), slot, collisions, unknown, unknown
        )
    return slot


def set_root_state(game: Any, trees: TreeBatch, t: int, state: State, history: NDArray[np.int64]) -> None:
    """Empty tree `t` and make `state` its root.

    `history` is `[n, STATE_WORDS]` int64, repetition keys of the earlier states, oldest first; the oldest
    that do not fit are dropped.
    """
    n = min(len(history), trees.history.shape[1])
    trees.history[t, :n] = history[len(history) - n :]
    trees.info[t]["history_length"] = n
    trees.nodes[t, 0]["state"], trees.nodes[t, 0]["sign"] = state, 1
    move_root(game, trees, t, -1)


@kernel
def move_root(game, trees, t, action):
    """Play an action at the root of tree `t` and keep the subtree below it, see `keep_subtree`.

    Action -1 plays none: the tree becomes empty but for a root, whose state and `sign` stand in node 0.
    Returns whether the action is legal; if not, the tree is unchanged.
    """
    tree = get_tree(trees, t)
    if action >= 0:
        e = np.int64(tree.nodes[0].first_edge)
        end = e + tree.nodes[0].num_edges
        while e < end and tree.edges[e].action != action:
            e += 1
        if e == end or keep_subtree(game, tree, e, trees.scratch):
            return e < end
    reset(game, tree, contract.load_state(game, tree.nodes[0].state), tree.nodes[0].sign < 0)
    return True


@kernel
def best_action(trees, t):
    """Return the action to play at the root of tree `t` (see `best_root_edge`)."""
    tree = get_tree(trees, t)
    return np.int64(tree.edges[best_root_edge(tree)].action)
