"""Fill a batch with the leaves of one tree: one descent after the other, or many in step.

On its way down a descent waits for memory at every level: which node comes next is not known before an edge
is selected. `select_leaves_in_step` lets up to `WIDTH` descents take turns, each a step behind the one
before, and what one of them needs next arrives while the others select. A descent counts as in flight at a
node before the next one selects there, so each selects what it would if those before it had ended; only
proofs and the values of proven nodes, which are backed up at once, come too late for those on their way.

In every kernel `trees` is a `TreeBatch`, `t` the index of one of its trees, and `tree` that `Tree`; `game` is
the rules and `constants` the `SearchConstants`.
"""

import numpy as np

from ckai.game.jit import hot
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import NEW, OPEN, PATH, PENDING
from ckai.rl.search.mcts import (
    BACKED_UP,
    COLLISION,
    FULL,
    LEAF,
    STUCK,
    add_child,
    add_in_flight,
    backup,
    descend,
    ends_descent,
    get_tree,
    prove_tablebase_root,
    select_edge,
)
from ckai.rl.search.prefetch import prefetch, prefetch_edges
from ckai.rl.search.proofs import PROOF_VALUE
from ckai.rl.search.selection import prepare_root
from ckai.rl.search.transpositions import share_evaluation

WIDTH = 8
"""Most descents in step: 4 hide less of the memory's latency, and 16 no more."""
ON = -1
"""A descent continues; otherwise it ended, see `ckai.rl.search.mcts.descend`."""


@hot
def prepare(game, tree, constants, target_visits):
    """Prepare a tree for a search to `target_visits`; return how many of these are not in flight yet."""
    tree.info[0].target_visits = target_visits
    if tree.nodes[0].status == OPEN and not tree.info[0].root_prepared:
        prepare_root(tree, constants)
        prove_tablebase_root(game, tree)
    return target_visits - tree.nodes[0].in_flight


@hot
def add_leaf(game, trees, t, slot, node):
    """Add a leaf to the batch, in `slot`; return the next slot."""
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
    """Run simulations in tree `t` up to their evaluation, one by one, and add their leaves to the batch.

    Ends when the root has `target_visits` (visits in flight included), is proven, `max_leaves` were added,
    the tree is full, or every descent ends at a leaf that is in flight already.

    Args:
        game, trees, t, constants: see the module.
        target_visits: int64, visit count at which the search of the root ends.
        max_leaves: int64, most leaves to add.
        slot: int64, first free slot of the batch.
        collisions: int32, one entry per leaf of `max_leaves`, overwritten.
        node, e: int64, where the first descent ends (see `traverse_trees` of `ckai.rl.search.batch`),
            -1 if unknown.

    Returns:
        The next free slot of the batch; `slot` itself if there is nothing to evaluate; -1 if a descent found
        no edge to follow, see `descend`.
    """
    tree = get_tree(trees, t)
    added, num_collisions = 0, 0
    target_visits = prepare(game, tree, constants, target_visits)
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
        elif ending == STUCK:
            slot = np.int64(-1)
            break
        elif ending != BACKED_UP:
            break
    for i in range(num_collisions):
        add_in_flight(tree, np.int64(collisions[i]), -1)
    return slot


@hot
def select_leaves_in_step(game, trees, t, constants, target_visits, max_leaves, slot, collisions, descents):
    """Do as `select_leaves`, with many descents in step.

    Args:
        game, trees, t, constants, target_visits, max_leaves, slot, collisions: see `select_leaves`.
        descents: int64, an entry for each descent in step, overwritten.

    Returns:
        See `select_leaves`.
    """
    tree = get_tree(trees, t)
    target_visits = prepare(game, tree, constants, target_visits)
    if tree.nodes[0].status == NEW and max_leaves > 0 and target_visits > 0:
        tree.nodes[0].status = PENDING
        return add_leaf(game, trees, t, slot, np.int64(0))
    added, active, num_collisions, stuck = 0, 0, 0, False
    max_collisions = max_leaves if max_leaves > 1 else 0
    begins = tree.nodes[0].status == OPEN
    while tree.nodes[0].proof == NONE:
        if (
            begins
            and active < len(descents)
            and added + active < max_leaves
            and tree.nodes[0].visits + added + active < target_visits
        ):
            descents[active] = at_edges_of(0)
            active += 1
        elif active == 0:
            break
        still_active = 0
        for i in range(active):
            ending, node = step_down(game, trees, t, constants, descents[i])
            if ending == ON:
                descents[still_active] = node
                still_active += 1
            elif ending == LEAF:
                slot = add_leaf(game, trees, t, slot, node)
                added += 1
            elif ending == COLLISION and num_collisions < max_collisions:
                # It stays in flight while the batch is filled, so that the next descent goes elsewhere.
                collisions[num_collisions] = node
                num_collisions += 1
            elif ending != BACKED_UP:
                # One by one, none of those behind it would have begun.
                add_in_flight(tree, node, -1)
                for behind in range(i + 1, active):
                    give_up(tree, descents[behind])
                begins, stuck = False, stuck or ending == STUCK
                break
        active = still_active
    for i in range(active):
        give_up(tree, descents[i])
    for i in range(num_collisions):
        add_in_flight(tree, np.int64(collisions[i]), -1)
    return np.int64(-1) if stuck else slot


@hot
def at_edges_of(node):
    """Return the place of a descent that selects an edge of `node` next; of such a place, return the node."""
    return np.int64(-1 - node)


@hot
def give_up(tree, place):
    """Abandon a descent: the path to its place is no longer in flight."""
    add_in_flight(tree, place if place >= 0 else at_edges_of(place), -1)


@hot
def step_down(game, trees, t, constants, place):
    """Advance a descent by a step: from a node to its edges, or over one of its edges to the next node.

    Args:
        game, trees, t, constants: see the module.
        place: index of a node, or `at_edges_of` it.

    Returns:
        (ON, the next place), or how the descent ended and its last node. The path to the node is in flight
        unless a value was BACKED_UP.
    """
    tree = get_tree(trees, t)
    is_shared, value = False, 0.0
    if place >= 0:
        node = place
        if not ends_descent(tree, node):
            here = tree.nodes[node]
            prefetch_edges(trees, t, np.int64(here.first_edge), np.int64(here.num_edges))
            return ON, at_edges_of(node)
    else:
        node = at_edges_of(place)
        if tree.nodes[node].proof == NONE:  # a descent that ended meanwhile may have proven it
            e = np.int64(select_edge(tree, node, constants))
            if e < 0:
                return STUCK, node
            child = np.int64(tree.edges[e].child)
            is_new = child < 0
            if is_new:
                child = np.int64(add_child(game, tree, node, e))
                if child < 0:
                    return FULL, node
            tree.edges[e].in_flight += 1
            tree.nodes[node].in_flight += 1
            if not is_new:
                prefetch(trees.nodes, t, child)
                return ON, child
            node = child
            if tree.nodes[node].proof == NONE:
                is_shared, value = share_evaluation(tree, node)
                if not is_shared:
                    return LEAF, node
    if not is_shared:
        if tree.nodes[node].proof == NONE:
            return COLLISION, node
        value = PROOF_VALUE[tree.nodes[node].proof]
    if node > 0:  # a root that was proven meanwhile needs no more visits
        backup(tree, node, value, 1)
    return BACKED_UP, node
