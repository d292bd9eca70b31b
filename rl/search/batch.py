"""Whole forests at once, in Numba: fill a batch from many trees, hand the answers back, move roots."""

import numpy as np

from ckai.game.jit import inner, kernel
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.mcts import (
    BACKED_UP,
    COLLISION,
    LEAF,
    backup,
    choose,
    descend,
    get_tree,
    keep_subtree,
    mark,
    prove_tablebase_root,
    reset,
)
from ckai.rl.search.selection import prepare_root


@inner
def select_leaves(game, f, t, puct, visits, leaves, slot):
    """Descend tree `t` until its root has `visits` (those in flight included) or `leaves` more wait.

    Fills the batch from `slot` on. Returns the next free slot.
    """
    tree = get_tree(f, t)
    waiting, met = 0, 0
    tree.info[0].target_visits = visits
    first, last = tree.nodes[0].first_edge, tree.nodes[0].first_edge + tree.nodes[0].num_edges
    for e in range(first, last):
        visits -= tree.edges[e].in_flight  # those of other batches
    if tree.nodes[0].status == OPEN and not tree.info[0].root_prepared:
        prepare_root(tree, puct)
        prove_tablebase_root(game, tree)
    again = np.empty(leaves if leaves > 1 else 0, np.int32)
    while waiting < leaves and tree.nodes[0].visits + waiting < visits and tree.nodes[0].proof == NONE:
        found, node = descend(game, tree, puct)
        if found == LEAF:
            f.slots[slot].tree = t
            f.slots[slot].node = node
            contract.encode(game, contract.load_state(game, tree.nodes[node].state), f.boards[slot])
            slot += 1
            waiting += 1
            if node == 0:
                break
        elif found == COLLISION and node > 0 and met < len(again):
            # Marked once more until the batch is full, so that the next descent looks elsewhere.
            mark(tree, node, 1)
            again[met] = node
            met += 1
        elif found != BACKED_UP:
            break
    for node in again[:met]:
        mark(tree, np.int64(node), -1)
    return slot


@inner
def prefetch_paths(f, slots):
    """Read the paths of the first `slots` leaves and the edges beside them, so that they are in the cache.

    The network has pushed them out. Along one path each read waits for the one before; going up all paths of
    the batch a level at a time, the reads of many trees overlap.
    """
    here = np.empty(slots, np.int32)
    for slot in range(slots):
        here[slot] = f.slots[slot].node
    seen, left = 0, slots
    while left > 0:
        left = 0
        for slot in range(slots):
            if here[slot] >= 0:
                node = f.nodes[f.slots[slot].tree, here[slot]]
                for e in range(
                    node.first_edge, node.first_edge + node.num_edges, 2
                ):  # a cache line holds two
                    seen += f.edges[f.slots[slot].tree, e].visits
                here[slot] = node.parent
                left += 1
    f.scratch[0, 0] = seen  # or the compiler would leave it all out


@kernel
def expand_and_backup(f, slots, logits, values):
    """Give the first `slots` leaves of the batch their priors and back their values up.

    Args:
        logits: `[B, NUM_ACTIONS]` float32; a softmax over the legal actions makes the priors.
        values: `[B]` float32 for the side to move; clipped to [-1, 1].

    Returns:
        -1, or the first slot whose answer is no number (a NaN, an infinite logit); it and those behind it are
        then still in flight.
    """
    for slot in range(slots):
        tree = get_tree(f, np.int64(f.slots[slot].tree))
        node = np.int64(f.slots[slot].node)
        first, count = tree.nodes[node].first_edge, tree.nodes[node].num_edges
        top = -np.inf
        for e in range(first, first + count):
            top = max(top, logits[slot, tree.edges[e].action])
        total = 0.0
        for e in range(first, first + count):
            p = np.exp(logits[slot, tree.edges[e].action] - top)
            tree.edges[e].prior = p
            total += p
        value = np.float64(values[slot])
        if not (0.0 < total < np.inf) or value != value:
            return slot
        for e in range(first, first + count):
            tree.edges[e].prior /= total
        tree.nodes[node].status = OPEN
        backup(tree, node, min(1.0, max(-1.0, value)), 1)
    return -1


@kernel
def select_all_leaves(game, f, puct, visits, leaves, growth):
    """Fill a batch from every tree; `visits` `[T]` int32 is what each root wants. Returns the leaves.

    With `growth` above 0 a tree sends `leaves` only once its root has `growth` times as many visits, and
    fewer before: leaves that are chosen at once do not know of each other.
    """
    slot = np.int64(0)
    for t in range(len(visits)):
        most = leaves
        if growth > 0:
            most = min(leaves, max(1, f.nodes[t, 0].visits // growth))
        slot = select_leaves(game, f, t, puct, np.int64(visits[t]), np.int64(most), slot)
    return slot


@kernel
def set_root_state(game, f, t, state, past):
    """Set tree `t` to `state`; `past` `[n, 2]` int64 are the keys before it, oldest first."""
    tree = get_tree(f, t)
    n = min(len(past), len(tree.history))
    for i in range(n):
        for word in range(past.shape[1]):
            tree.history[i, word] = past[len(past) - n + i, word]
    tree.info[0].history_length = n
    reset(game, tree, state)


@kernel
def play_root_action(game, f, t, action):
    """Play a action at the root of tree `t`, keeping its subtree; return whether it was legal there."""
    tree = get_tree(f, t)
    for e in range(tree.nodes[0].first_edge, tree.nodes[0].first_edge + tree.nodes[0].num_edges):
        if tree.edges[e].action == action:
            keep_subtree(game, tree, e, f.scratch)
            return True
    return False


@kernel
def best_action(f, t):
    """The action to play at the root of tree `t` (see `choose`)."""
    tree = get_tree(f, t)
    return np.int64(tree.edges[choose(tree)].action)
