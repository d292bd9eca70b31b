"""Whole forests at once, in Numba: fill a batch from many trees, hand the answers back, move roots."""

import numpy as np
from numba import njit

from ckai.rl.games import contract as game_api
from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.mcts import (
    COLLISION,
    COUNTED,
    LEAF,
    back_up,
    choose,
    descend,
    keep_subtree,
    know_root,
    mark,
    reset,
    tree_of,
)
from ckai.rl.search.selection import prepare_root


@njit(cache=True, nogil=True)
def gather(game, f, t, puct, visits, leaves, slot):
    """Descend tree `t` until its root has `visits` (those in flight included) or `leaves` more wait.

    Fills the batch from `slot` on. Returns the next free slot.
    """
    tree = tree_of(f, t)
    waiting, met = 0, 0
    tree.info[0].wanted = visits
    first, last = tree.nodes[0].first, tree.nodes[0].first + tree.nodes[0].count
    for e in range(first, last):
        visits -= tree.edges[e].in_flight  # those of other batches
    if tree.nodes[0].status == OPEN and not tree.info[0].prepared:
        prepare_root(tree, puct)
        know_root(game, tree)
    again = np.empty(leaves if leaves > 1 else 0, np.int32)
    while waiting < leaves and tree.nodes[0].visits + waiting < visits and tree.nodes[0].proof == NONE:
        found, node = descend(game, tree, puct)
        if found == LEAF:
            f.slots[slot].tree = t
            f.slots[slot].node = node
            game_api.encode(game, (tree.nodes[node].state[0], tree.nodes[node].state[1]), f.boards[slot])
            slot += 1
            waiting += 1
            if node == 0:
                break
        elif found == COLLISION and node > 0 and met < len(again):
            # Marked once more until the batch is full, so that the next descent looks elsewhere.
            mark(tree, node, 1)
            again[met] = node
            met += 1
        elif found != COUNTED:
            break
    for node in again[:met]:
        mark(tree, node, -1)
    return slot


@njit(cache=True, nogil=True)
def fetch_paths(f, slots):
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
                for e in range(node.first, node.first + node.count, 2):  # a cache line holds two
                    seen += f.edges[f.slots[slot].tree, e].visits
                here[slot] = node.parent
                left += 1
    f.scratch[0, 0] = seen  # or the compiler would leave it all out


@njit(cache=True, nogil=True)
def scatter(f, slots, logits, values):
    """Give the first `slots` leaves of the batch their priors and back their values up.

    Args:
        logits: `[B, LABELS]` float32; a softmax over the legal labels makes the priors.
        values: `[B]` float32 for the side to move; clipped to [-1, 1].
    """
    for slot in range(slots):
        tree = tree_of(f, f.slots[slot].tree)
        node = f.slots[slot].node
        first, count = tree.nodes[node].first, tree.nodes[node].count
        top = -np.inf
        for e in range(first, first + count):
            top = max(top, logits[slot, tree.edges[e].label])
        total = 0.0
        for e in range(first, first + count):
            p = np.exp(logits[slot, tree.edges[e].label] - top)
            tree.edges[e].prior = p
            total += p
        for e in range(first, first + count):
            tree.edges[e].prior /= total
        tree.nodes[node].status = OPEN
        back_up(tree, node, min(1.0, max(-1.0, np.float64(values[slot]))), 1)


@njit(cache=True, nogil=True)
def gather_all(game, f, puct, visits, leaves, growth):
    """Fill a batch from every tree; `visits` `[T]` int32 is what each root wants. Returns the leaves.

    With `growth` above 0 a tree sends `leaves` only once its root has `growth` times as many visits, and
    fewer before: leaves that are chosen at once do not know of each other.
    """
    slot = 0
    for t in range(len(visits)):
        most = leaves
        if growth > 0:
            most = min(leaves, max(1, f.nodes[t, 0].visits // growth))
        slot = gather(game, f, t, puct, visits[t], most, slot)
    return slot


@njit(cache=True, nogil=True)
def plant_root(game, f, t, state, past):
    """Set tree `t` to `state`; `past` `[n, 2]` int64 are the keys before it, oldest first."""
    tree = tree_of(f, t)
    n = min(len(past), len(tree.past))
    for i in range(n):
        tree.past[i] = past[len(past) - n + i]
    tree.info[0].past = n
    reset(game, tree, state)


@njit(cache=True, nogil=True)
def follow(game, f, t, label):
    """Play a label at the root of tree `t`, keeping its subtree; return whether it was legal there."""
    tree = tree_of(f, t)
    for e in range(tree.nodes[0].first, tree.nodes[0].first + tree.nodes[0].count):
        if tree.edges[e].label == label:
            keep_subtree(game, tree, e, f.scratch)
            return True
    return False


@njit(cache=True, nogil=True)
def best_label(f, t):
    """The label to play at the root of tree `t` (see `choose`)."""
    tree = tree_of(f, t)
    return np.int64(tree.edges[choose(tree)].label)
