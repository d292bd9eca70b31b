"""Subtree value bias correction in Numba: after the same actions a network makes similar errors.

Where the last two actions and the side to move are the same, the network's value of a node is often wrong by
about as much. So nodes alike share a bucket, which holds how far their network values V were from what the
search found below them (Wu, "Other Methods Implemented in KataGo", Subtree Value Bias Correction):

    error(s) = V(s) - mean value of the visits to the edges of s
    bias     = sum over s of error(s) n(s) ** alpha / sum over s of n(s) ** alpha,    n(s) = N(s) - 1

and in the value sums stands V(s) - lambda bias instead of V(s), clipped to [-1, 1]. All values are for the
side to move at the node, which is the same at all nodes of a bucket. Lambda and alpha are
`value_bias_factor` and `value_bias_exponent` of the `SearchConstants`.

As in KataGo a node is corrected when it is evaluated, and again by the newest bias whenever a simulation
passes it. KataGo then computes the node's mean again from its children. Here sums grow: the change of the
node's own value is added to its sum and goes up with the simulation's value, so that every sum above has it
too, which gives the same means. What differs:

- A bucket is known by actions alone, so that it works for every game; KataGo also has the stones around the
  last move. A node whose last two actions the tree does not know (the root of a new tree and its children)
  has no bucket.
- Proven nodes are not corrected, and from its proof on a node is no part of its bucket.
- What a bucket knows from nodes that a move drops is forgotten; KataGo keeps a fifth of it.

Memory is fixed: a table of buckets for each tree, found by hash and compared by their whole context. A node
for which there is no room has no bucket. Trees without the correction have no such memory, and the kernels
for them are compiled without it.

Arguments are named as in `ckai.rl.search.mcts`.
"""

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ckai.game.jit import HOT, cold, inner
from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import OPEN, BiasMemory

PROBES = 16
"""Entries of the table that are looked at for a context."""
MIN_WEIGHT = 1e-3
"""Weight of a bucket below which it is empty but for rounding; one visit weighs 1."""

# A context in bits: 8 of the last action, 8 of the one before, 2 of how many are known, 1 of the side.
_KNOWN, _SIDE = 16, 18


def has_memory(tree: Any) -> bool:
    """Return whether a type of Numba, of a `Tree`, is that of trees with value bias correction."""
    return not isinstance(tree.types[tree.fields.index("bias")], types.NoneType)


def memory_of(bias: BiasMemory | None, t: int) -> BiasMemory | None:
    """Return the part of tree `t` of the memory of a batch of trees, as views; None if there is none."""
    return None if bias is None else BiasMemory(bias.nodes[t], bias.buckets[t])


@overload(memory_of, jit_options=HOT, strict=False)
def _memory_of(bias, t):
    if isinstance(bias, types.NoneType):
        return lambda bias, t: None
    return lambda bias, t: BiasMemory(bias.nodes[t], bias.buckets[t])


@inner
def context_of(tree, node):
    """Return the context of a node from its parent's; 0 at the root of a new tree."""
    parent = np.int64(tree.nodes[node].parent)
    if parent < 0:
        return np.int64(0)
    above = np.int64(tree.bias.nodes[parent].context)
    side = (above >> _SIDE) ^ (1 if tree.nodes[node].sign < 0 else 0)
    known = min(2, ((above >> _KNOWN) & 3) + 1)
    action = np.int64(tree.edges[tree.nodes[node].parent_edge].action)
    return side << _SIDE | known << _KNOWN | (above & 255) << 8 | action


@inner
def find_bucket(tree, context):
    """Return the index of the bucket of a context, created if needed; -1 if there is no room for it."""
    if (context >> _KNOWN) & 3 < 2:
        return np.int64(-1)
    mask = len(tree.bias.buckets) - 1
    mixed = context * 0x9E3779B1
    place = (mixed ^ mixed >> 15) & mask
    for _ in range(PROBES):
        found = np.int64(tree.bias.buckets[place].context)
        if found == 0:
            tree.bias.buckets[place].context = context
        if found == 0 or found == context:
            return place
        place = (place + 1) & mask
    return np.int64(-1)


@inner
def clear_buckets(tree):
    """Empty the table of a tree."""
    for place in range(len(tree.bias.buckets)):
        tree.bias.buckets[place].context = 0
        tree.bias.buckets[place].weight = 0.0
        tree.bias.buckets[place].weighted_error = 0.0


@inner
def join_bucket(tree, node, value):
    """Record the network's value of a node that is backed up for the first time, and find its bucket.

    The first value of a tree, that of its root, empties the table: what is in it is of another tree.
    """
    if node == 0:
        clear_buckets(tree)
    context = context_of(tree, node)
    here = tree.bias.nodes[node]
    here.network_value = value
    here.corrected = value
    here.weight = 0.0
    here.weighted_error = 0.0
    here.context = context
    here.bucket = find_bucket(tree, context)


@inner
def correct_value(tree, node, constants):
    """Update the error of a node in its bucket, and correct the node's value by the bucket's bias.

    Args:
        tree: the tree.
        node: index of a node that is not proven, whose sum has the simulation.
        constants: the `SearchConstants`.

    Returns:
        By how much the node's value sum has changed, for the side to move there.
    """
    here = tree.bias.nodes[node]
    if here.bucket < 0:
        return 0.0
    bucket = tree.bias.buckets[here.bucket]
    visits_below = tree.nodes[node].visits - 1
    if visits_below > 0:
        error = here.network_value - (tree.nodes[node].value_sum - here.corrected) / visits_below
        weight = np.float64(visits_below) ** constants.value_bias_exponent
        bucket.weight += weight - here.weight
        bucket.weighted_error += weight * error - here.weighted_error
        here.weight = weight
        here.weighted_error = weight * error
    corrected = here.network_value
    if bucket.weight > MIN_WEIGHT:
        corrected -= constants.value_bias_factor * bucket.weighted_error / bucket.weight
        corrected = min(1.0, max(-1.0, corrected))
    change = corrected - here.corrected
    here.corrected = corrected
    tree.nodes[node].value_sum += change
    return change


@inner
def leave_bucket(tree, node):
    """Take the error of a node that is now proven out of its bucket; later calls do nothing."""
    here = tree.bias.nodes[node]
    if here.bucket >= 0:
        bucket = tree.bias.buckets[here.bucket]
        bucket.weight -= here.weight
        bucket.weighted_error -= here.weighted_error
        here.bucket = -1


def keep_buckets(tree, new_root, end, moved):
    """Fill the table with the errors of the nodes that are kept, see `ckai.rl.search.subtree`.

    Args:
        tree: the tree, whose nodes are at their new indices.
        new_root, end: old indices of the new root and after the last node.
        moved: int32, `moved[old index, 0]` is the new index, -1 if dropped.
    """
    raise TypeError("only inside jitted code")


@overload(keep_buckets, jit_options=HOT, strict=False)
def _keep_buckets(tree, new_root, end, moved):
    if has_memory(tree):
        return lambda tree, new_root, end, moved: refill_buckets(tree, new_root, end, moved)
    return lambda tree, new_root, end, moved: None


@cold
def refill_buckets(tree, new_root, end, moved):
    """Do the work of `keep_buckets`."""
    clear_buckets(tree)
    for old in range(new_root, end):
        node = np.int64(moved[old, 0])
        if node < 0:
            continue
        tree.bias.nodes[node] = tree.bias.nodes[old]
        here = tree.bias.nodes[node]
        if tree.nodes[node].status != OPEN or tree.nodes[node].proof != NONE:
            continue  # one that was never evaluated has no record
        place = find_bucket(tree, np.int64(here.context))
        here.bucket = place
        if place >= 0:
            tree.bias.buckets[place].weight += here.weight
            tree.bias.buckets[place].weighted_error += here.weighted_error
        else:
            here.weight = 0.0
            here.weighted_error = 0.0
