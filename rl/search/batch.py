"""Kernels over a batch of trees: collect leaves to evaluate, back their values up, move the roots.

In every kernel `trees` is a `TreeBatch`, `t` the index of one of its trees, and `tree` that `Tree`; `game` is
the rules and `constants` the `SearchConstants`. Indices of edges (`e`) and nodes (`node`) are those within a
tree.
"""

import numpy as np

from ckai.game.jit import inner, kernel
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.mcts import (
    BACKED_UP,
    COLLISION,
    LEAF,
    add_in_flight,
    backup,
    best_root_edge,
    descend,
    get_tree,
    keep_subtree,
    logits_to_priors,
    prove_tablebase_root,
    reset,
)
from ckai.rl.search.selection import prepare_root


@inner
def select_leaves(game, trees, t, constants, target_visits, max_leaves, slot):
    """Run simulations in tree `t` up to their evaluation, and add the leaves to the batch.

    Ends when the root has `target_visits` (visits in flight included), is proven, `max_leaves` were added,
    the tree is full, or every descent ends at a leaf that is in flight already.

    Args:
        game, trees, t, constants: see the module.
        target_visits: int64, visit count at which the search of the root ends.
        max_leaves: int64, most leaves to add.
        slot: int64, first free slot of the batch.

    Returns:
        The next free slot of the batch; `slot` itself if there is nothing to evaluate.
    """
    tree = get_tree(trees, t)
    added, num_collisions = 0, 0
    tree.info[0].target_visits = target_visits
    first, end = tree.nodes[0].first_edge, tree.nodes[0].first_edge + tree.nodes[0].num_edges
    for e in range(first, end):
        target_visits -= tree.edges[e].in_flight  # leaves of other batches
    if tree.nodes[0].status == OPEN and not tree.info[0].root_prepared:
        prepare_root(tree, constants)
        prove_tablebase_root(game, tree)
    collisions = np.empty(max_leaves if max_leaves > 1 else 0, np.int32)
    while added < max_leaves and tree.nodes[0].visits + added < target_visits and tree.nodes[0].proof == NONE:
        ending, node = descend(game, tree, constants)
        if ending == LEAF:
            trees.slots[slot].tree = t
            trees.slots[slot].node = node
            contract.encode(game, contract.load_state(game, tree.nodes[node].state), trees.boards[slot])
            slot += 1
            added += 1
            if node == 0:
                break
        elif ending == COLLISION and node > 0 and num_collisions < len(collisions):
            # Count the leaf as in flight once more while the batch is filled, so that the next descent goes
            # elsewhere.
            add_in_flight(tree, node, 1)
            collisions[num_collisions] = node
            num_collisions += 1
        elif ending != BACKED_UP:
            break
    for node in collisions[:num_collisions]:
        add_in_flight(tree, np.int64(node), -1)
    return slot


@inner
def prefetch_paths(trees, slots):
    """Read the paths of the first `slots` leaves into the CPU cache, with the edges of every node on them.

    Only for speed: the network has evicted them. On one path every read depends on the one before; walking up
    all paths of the batch in step lets the reads of many trees overlap.
    """
    path_node = np.empty(slots, np.int32)
    for slot in range(slots):
        path_node[slot] = trees.slots[slot].node
    checksum, active_paths = 0, slots
    while active_paths > 0:
        active_paths = 0
        for slot in range(slots):
            if path_node[slot] >= 0:
                node = trees.nodes[trees.slots[slot].tree, path_node[slot]]
                for e in range(
                    node.first_edge, node.first_edge + node.num_edges, 2
                ):  # a cache line holds two
                    checksum += trees.edges[trees.slots[slot].tree, e].visits
                path_node[slot] = node.parent
                active_paths += 1
    trees.scratch[0, 0] = checksum  # used, so that the compiler does not drop the reads


@kernel
def expand_and_backup(trees, slots, logits, values):
    """Expand the first `slots` leaves of the batch with their priors, and back their values up.

    Args:
        trees: the batch of trees.
        slots: number of leaves in the batch.
        logits: `[B, NUM_ACTIONS]` float32; the priors are their softmax over the legal actions.
        values: `[B]` float32 for the side to move at the leaf; clipped to [-1, 1].

    Returns:
        Whether all logits of legal actions and all values are finite numbers; if not, the trees of this batch
        must not be searched on.
    """
    not_finite = 0.0  # becomes NaN: a branch in the loop would cost more than it saves
    for slot in range(slots):
        tree = get_tree(trees, np.int64(trees.slots[slot].tree))
        node = np.int64(trees.slots[slot].node)
        first, count = tree.nodes[node].first_edge, tree.nodes[node].num_edges
        for e in range(first, first + count):
            tree.edges[e].prior = logits[slot, tree.edges[e].action]
        total = logits_to_priors(tree, node)
        value = np.float64(values[slot])
        not_finite += (total - total) + (value - value)
        tree.nodes[node].status = OPEN
        backup(tree, node, min(1.0, max(-1.0, value)), 1)
    return not_finite == 0.0


@kernel
def select_all_leaves(game, trees, constants, target_visits, leaves, growth):
    """Fill the batch with leaves of every tree.

    Args:
        game, trees, constants: see the module.
        target_visits: `[T]` int32, visit count at which the search of each root ends.
        leaves: most leaves of one tree.
        growth: 0, or the root visits that allow one more leaf: a tree adds at most visits // growth leaves
            (at least 1), because leaves selected together do not profit from each other's values.

    Returns:
        The number of leaves in the batch.
    """
    slot = np.int64(0)
    for t in range(len(target_visits)):
        max_leaves = leaves
        if growth > 0:
            max_leaves = min(leaves, max(1, trees.nodes[t, 0].visits // growth))
        slot = select_leaves(
            game, trees, t, constants, np.int64(target_visits[t]), np.int64(max_leaves), slot
        )
    return slot


@kernel
def set_root_state(game, trees, t, state, history):
    """Empty tree `t` and make `state` its root.

    Args:
        game, trees, t: see the module.
        state: tuple of int64 words.
        history: `[n, STATE_WORDS]` int64, repetition keys of the earlier states, oldest first; those that do
            not fit are dropped, oldest first.
    """
    tree = get_tree(trees, t)
    n = min(len(history), len(tree.history))
    for i in range(n):
        for word in range(history.shape[1]):
            tree.history[i, word] = history[len(history) - n + i, word]
    tree.info[0].history_length = n
    reset(game, tree, state)


@kernel
def play_root_action(game, trees, t, action):
    """Play an action at the root of tree `t` and keep the subtree below it.

    Returns:
        Whether the action is legal at the root; if not, the tree is unchanged.
    """
    tree = get_tree(trees, t)
    for e in range(tree.nodes[0].first_edge, tree.nodes[0].first_edge + tree.nodes[0].num_edges):
        if tree.edges[e].action == action:
            keep_subtree(game, tree, e, trees.scratch)
            return True
    return False


@kernel
def best_action(trees, t):
    """Return the action to play at the root of tree `t` (see `best_root_edge`)."""
    tree = get_tree(trees, t)
    return np.int64(tree.edges[best_root_edge(tree)].action)
