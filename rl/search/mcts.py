"""The search itself: descent, expansion, backup and proofs over one tree of a `TreeBatch`, all in Numba.

Which edge is followed is the matter of `ckai.rl.search.selection`.

Proofs follow the MCTS-Solver (Winands, Bjornsson, Saito 2008), with draws: a node is won if an edge wins,
and takes the best of its edges once all are proven. Proven edges are never searched again except proven
draws, which count as visits of value 0. Distances are in plies.
"""

import numpy as np

from ckai.game.jit import inner
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.search.arrays import NEW, PENDING, TERMINAL, Tree
from ckai.rl.search.selection import best_edge, root_edge

# What one descent came to
LEAF, BACKED_UP, COLLISION, FULL = 0, 1, 2, 3

PROOF_VALUE = np.array([0.0, 1.0, -1.0, 0.0])


@inner
def get_tree(f, t):
    """Tree `t` of a tree_batch."""
    return Tree(f.nodes[t], f.edges[t], f.info[t : t + 1], f.history[t])


@inner
def reset(game, tree, state):
    """Make a tree a lone root that waits for the network; the states before it are kept as they are."""
    tree.info[0].nodes = 0
    tree.info[0].edges = 0
    tree.info[0].root_prepared = 0
    add_node(game, tree, state, np.int64(-1), np.int64(-1), np.bool_(False))
    if tree.nodes[0].status == PENDING:
        tree.nodes[0].status = NEW


@inner
def append_history(game, tree, state, following):
    """Note that `state` stood before `following`, for repetitions; forget what can no longer return."""
    if contract.repetition_window(game, following) == 0:
        tree.info[0].history_length = 0
        return
    n = tree.info[0].history_length
    room = tree.history.shape[0]
    if n == room:
        for i in range(1, n):
            for word in range(tree.history.shape[1]):
                tree.history[i - 1, word] = tree.history[i, word]
        n -= 1
    contract.store_state(tree.history[n], contract.key(game, state))
    tree.info[0].history_length = n + 1


@inner
def count_repetitions(game, tree, state, parent):
    """How often `state`, reached from node `parent`, stood on the path and before, this time included."""
    back = contract.repetition_window(game, state)
    mine = contract.key(game, state)
    times = 1
    node = parent
    while node >= 0 and back > 0:
        other = contract.key(game, contract.load_state(game, tree.nodes[node].state))
        if other == mine:
            times += 1
        back -= 1
        node = tree.nodes[node].parent
    i = tree.info[0].history_length - 1
    while i >= 0 and back > 0:
        if contract.load_state(game, tree.history[i]) == mine:
            times += 1
        back -= 1
        i -= 1
    return times


@inner
def terminal_or_tablebase(game, tree, state, parent, count):
    """What is certain of a state with `count` legal actions that is reached from node `parent`.

    Returns:
        (whether the game is over, proof, plies to the end).
    """
    over, value = contract.outcome(game, state, count)
    if not over and contract.repetitions(game) > 0 and contract.repetition_window(game, state) > 0:
        over = count_repetitions(game, tree, state, parent) >= contract.repetitions(game)
        value = 0.0
    if over:
        return True, WIN if value > 0 else LOSS if value < 0 else DRAW, 0
    proof, plies = contract.tablebase_value(game, state)
    return False, proof, plies


@inner
def add_node(game, tree, state, parent, edge, passed):
    """Add a node with its edges (priors still to come); return its number, or -1 if the tree is full."""
    node = np.int64(tree.info[0].nodes)
    first = np.int64(tree.info[0].edges)
    if node == len(tree.nodes) or first + contract.max_legal_actions(game) > len(tree.edges):
        return -1
    count = contract.legal(game, state, tree.edges.action[first:])
    tree.info[0].nodes = node + 1
    tree.info[0].edges = first + count
    here = tree.nodes[node]
    contract.store_state(here.state, state)
    here.parent = parent
    here.parent_edge = edge
    here.sign = -1 if passed else 1
    here.visits = 0
    here.value_sum = 0.0
    here.first_edge = first
    here.num_edges = count
    here.proof = NONE
    here.plies = 0
    here.status = PENDING
    over, proof, plies = terminal_or_tablebase(game, tree, state, parent, count)
    if over:
        here.status = TERMINAL
    if over or parent >= 0:
        here.proof = proof
        here.plies = plies
    for e in range(first, first + count):
        tree.edges[e].prior = 0.0
        tree.edges[e].visits = 0
        tree.edges[e].value_sum = 0.0
        tree.edges[e].child = -1
        tree.edges[e].proof = NONE
        tree.edges[e].plies = 0
        tree.edges[e].in_flight = 0
        tree.edges[e].noise = 0.0
    if contract.lookahead(game) and parent >= 0 and here.proof == NONE:
        prove_terminal_children(game, tree, node)
    return node


@inner
def prove_terminal_children(game, tree, node):
    """Prove the edges of a new node that end the game, and with them the node, before any search.

    Not done at the root, whose moves are to be visited and to have priors.
    """
    here = tree.nodes[node]
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    for e in range(here.first_edge, here.first_edge + here.num_edges):
        state, passed = contract.play(game, contract.load_state(game, here.state), tree.edges[e].action)
        over, value = contract.outcome(game, state, contract.legal(game, state, actions))
        if over:
            set_proof(tree, e, WIN if value > 0 else LOSS if value < 0 else DRAW, 0, passed)
    prove_node(tree, node)


@inner
def prove_tablebase_root(game, tree):
    """Prove the edges of a root that is known by what is known of the states they lead to.

    Only such a root: of its ways the shortest must be found, not the first.
    """
    root = tree.nodes[0]
    state = contract.load_state(game, root.state)
    if root.proof != NONE:
        return
    worth, _ = contract.tablebase_value(game, state)
    if worth == NONE:
        return
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    for e in range(root.first_edge, root.first_edge + root.num_edges):
        after, passed = contract.play(game, state, tree.edges[e].action)
        _, proof, plies = terminal_or_tablebase(game, tree, after, 0, contract.legal(game, after, actions))
        if proof != NONE:
            set_proof(tree, e, proof, plies, passed)
    prove_node(tree, 0)
    if worth == DRAW and tree.nodes[0].proof == NONE:
        # What is not proven are losses that the draw by count may save: no better than the draw.
        tree.nodes[0].proof = DRAW


@inner
def descend(game, tree, puct):
    """Walk from the root to a leaf.

    Returns:
        (LEAF, node): a new node waits for the network, its path marked in flight. (BACKED_UP, node): the
        path met a proven end and was backed up. (COLLISION, node): the path met a leaf that already waits.
        (FULL, -1): no room for another node. The last two leave the tree as it was.
    """
    node = 0
    if tree.nodes[0].status == NEW:
        tree.nodes[0].status = PENDING
        return LEAF, 0
    if tree.nodes[0].status == PENDING:
        return COLLISION, 0
    while True:
        e = root_edge(tree, puct) if node == 0 else best_edge(tree, node, puct)
        child = tree.edges[e].child
        if child < 0:
            here = tree.nodes[node]
            state, passed = contract.play(game, contract.load_state(game, here.state), tree.edges[e].action)
            child = add_node(game, tree, state, node, e, passed)
            if child < 0:
                return FULL, -1
            tree.edges[e].child = child
            if tree.nodes[child].proof == NONE:
                mark(tree, child, 1)
                return LEAF, child
        if tree.nodes[child].proof != NONE:
            backup(tree, child, PROOF_VALUE[tree.nodes[child].proof], 0)
            return BACKED_UP, child
        if tree.nodes[child].status == PENDING:
            return COLLISION, child
        node = child


@inner
def mark(tree, node, change):
    """Add `change` to the leaves in flight below every edge on the path to a node."""
    while tree.nodes[node].parent >= 0:
        tree.edges[tree.nodes[node].parent_edge].in_flight += change
        node = tree.nodes[node].parent


@inner
def backup(tree, node, value, landed):
    """Add a value (for the side to move at `node`) along the path to the root, and carry proofs upwards.

    `landed` is 1 if the path was in flight, else 0.
    """
    tree.info[0].simulations += 1
    tree.nodes[node].visits += 1
    tree.nodes[node].value_sum += value
    parent = np.int64(tree.nodes[node].parent)
    while parent >= 0:
        e = np.int64(tree.nodes[node].parent_edge)
        value = value * tree.nodes[node].sign
        if tree.nodes[node].proof != NONE and tree.edges[e].proof == NONE:
            prove_edge(tree, node, e)
            prove_node(tree, parent)
        tree.edges[e].visits += 1
        tree.edges[e].value_sum += value
        tree.edges[e].in_flight -= landed
        if tree.nodes[parent].proof != NONE:
            value = PROOF_VALUE[tree.nodes[parent].proof]
        tree.nodes[parent].visits += 1
        tree.nodes[parent].value_sum += value
        node = parent
        parent = np.int64(tree.nodes[node].parent)


@inner
def prove_edge(tree, node, e):
    """Give the edge that leads to a proven node its proof, in the view of the node it leaves."""
    here = tree.nodes[node]
    set_proof(tree, e, np.int64(here.proof), np.int64(here.plies), here.sign < 0)


@inner
def set_proof(tree, e, proof, plies, passed):
    """Give an edge the proof of the state that it leads to; `passed`: whether the other side moves there."""
    if passed:
        proof = LOSS if proof == WIN else WIN if proof == LOSS else DRAW
        plies += 1
    tree.edges[e].proof = proof
    tree.edges[e].plies = plies


@inner
def prove_node(tree, node):
    """Prove a node if its edges do: the shortest win; once all are proven, a draw or the longest loss."""
    first = tree.nodes[node].first_edge
    won, lost = -1, -1
    open_, drawn = False, False
    for e in range(first, first + tree.nodes[node].num_edges):
        proof = tree.edges[e].proof
        plies = np.int64(tree.edges[e].plies)
        if proof == WIN:
            if won < 0 or plies < won:
                won = plies
        elif proof == DRAW:
            drawn = True
        elif proof == LOSS:
            lost = max(lost, plies)
        else:
            open_ = True
    if won >= 0:
        tree.nodes[node].proof = WIN
        tree.nodes[node].plies = won
    elif not open_:
        tree.nodes[node].proof = DRAW if drawn else LOSS
        tree.nodes[node].plies = 0 if drawn else lost


@inner
def choose(tree):
    """The root edge to play.

    A proven win by the shortest way; else the most visits among edges not proven lost (of a root that is
    proven drawn, among those that draw), then the higher Q, the higher prior, the lower action; if all lose,
    the longest way.
    """
    first = np.int64(tree.nodes[0].first_edge)
    best = first
    for e in range(first + 1, first + tree.nodes[0].num_edges):
        if better(tree, e, best):
            best = e
    return best


@inner
def better(tree, e, other):
    """Whether edge `e` is to be played rather than `other` (see `choose`); both leave the same node."""
    a, b = tree.edges[e].proof, tree.edges[other].proof
    if (a == WIN) != (b == WIN):
        return a == WIN
    if (a == LOSS) != (b == LOSS):
        return b == LOSS
    if tree.nodes[0].proof == DRAW and (a == DRAW) != (b == DRAW):
        return a == DRAW
    if a == WIN and tree.edges[e].plies != tree.edges[other].plies:
        return tree.edges[e].plies < tree.edges[other].plies
    if a == LOSS and tree.edges[e].plies != tree.edges[other].plies:
        return tree.edges[e].plies > tree.edges[other].plies
    n, m = tree.edges[e].visits, tree.edges[other].visits
    if n != m:
        return n > m
    if n > 0:
        q, p = tree.edges[e].value_sum / n, tree.edges[other].value_sum / m
        if q != p:
            return q > p
    return tree.edges[e].prior > tree.edges[other].prior


@inner
def keep_subtree(game, tree, e, scratch):
    """Make the child of root edge `e` the root and drop the rest; a child not visited becomes a lone root.

    So does one that was proven when it was made and so never evaluated. The new root's `sign` still tells
    whether the turn passed. `scratch` is `[C, 2]` int32.
    """
    nodes, edges, moved = tree.nodes, tree.edges, scratch
    state = contract.load_state(game, nodes[0].state)
    top = edges[e].child
    if top < 0 or nodes[top].status == PENDING:
        after, passed = contract.play(game, state, edges[e].action)
        append_history(game, tree, state, after)
        reset(game, tree, after)
        nodes[0].sign = -1 if passed else 1
        return
    append_history(game, tree, state, contract.load_state(game, nodes[top].state))
    # Children are always made after their parents, so one pass in ascending order meets parents first,
    # and every node and edge moves to a place that was already read.
    # scratch[old, 0] = new place, -1 if dropped; scratch[new, 1] = where its edges were.
    kept, kept_edges = 0, 0
    for node in range(top + 1):
        moved[node, 0] = -1
    for node in range(top, tree.info[0].nodes):
        parent = -1
        if node > top:
            parent = moved[nodes[node].parent, 0]
            if parent < 0:
                moved[node, 0] = -1
                continue
        moved[node, 0] = kept
        first, count = nodes[node].first_edge, nodes[node].num_edges
        edge = -1
        if parent >= 0:
            # The parent's edges kept their order: the same offset from its new first edge.
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
