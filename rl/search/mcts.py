"""Monte Carlo tree search on one `Tree`: selection, expansion, backup, proofs, repetitions on the path and in
the history, and the subtree that a move keeps, in Numba.

Proofs follow the MCTS-Solver (Winands, Bjornsson, Saito 2008), with draws: a node is won if an edge wins, and
takes the best of its edges once all are proven. Edges proven won or lost are not searched again; proven draws
are, and count as visits of value 0. Distances are in plies.

Evaluation is outside: `descend` returns a leaf, its logits and value come back in
`ckai.rl.search.batch.expand_and_backup`. In every kernel `game` is the rules, `tree` the tree and `constants`
the `SearchConstants`.
"""

import numpy as np

from ckai.datasets.split import gamma
from ckai.game.jit import INNER, hot, inner
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN
from ckai.rl.search.arrays import NEW, OPEN, PENDING, TERMINAL, Tree
from ckai.rl.search.selection import puct_edge
from ckai.rl.search.transpositions import (
    MIN_ENTRIES,
    empty_table,
    prefetch_transposition,
    refill_transpositions,
    share_evaluation,
)

LEAF, BACKED_UP, COLLISION, FULL = 0, 1, 2, 3
"""How a descent ended, see `descend`."""
PROOF_VALUE = np.array([0.0, 1.0, -1.0, 0.0])
"""Value of each proof: NONE (unused), WIN, LOSS, DRAW."""


@hot
def get_tree(trees, t):
    """Return tree `t` of a `TreeBatch` as a `Tree` of views."""
    return Tree(
        trees.nodes[t],
        trees.edges[t],
        trees.info[t : t + 1],
        trees.history[t],
        trees.transpositions[t],
    )


@inner
def reset(game, tree, state, passed):
    """Empty a tree and add `state` as its root, of status NEW or TERMINAL; the history stays as it is."""
    tree.info[0].nodes = 0
    tree.info[0].edges = 0
    tree.info[0].depth = 0
    tree.info[0].root_prepared = 0
    empty_table(tree, MIN_ENTRIES)
    add_node(game, tree, state, np.int64(-1), np.int64(-1), passed)
    if tree.nodes[0].status == PENDING:
        tree.nodes[0].status = NEW


@hot
def terminal_or_tablebase(game, tree, state, parent, count):
    """Return (whether the game is over, proof for the side to move or NONE, plies to the end) of a state.

    A proof has a state where the game is over, or that a tablebase has. It is a child of node `parent`, -1 at
    the root, and has `count` legal actions.
    """
    over, value = contract.outcome(game, state, count)
    if not over and contract.repetitions(game) > 0 and contract.repetition_window(game, state) > 0:
        over = count_repetitions(game, tree, state, parent) >= contract.repetitions(game)
        value = 0.0
    if over:
        return True, WIN if value > 0 else LOSS if value < 0 else DRAW, 0
    proof, plies = contract.tablebase_value(game, state)
    return False, proof, plies


@hot
def add_node(game, tree, state, parent, edge, passed):
    """Add a node, with edges that have no priors yet; return its index, or -1 if the tree is full.

    `parent` and `edge` are the indices of the node and the edge that lead here, -1 at the root; `passed` says
    whether that move passed the turn.
    """
    node = np.int64(tree.info[0].nodes)
    first = np.int64(tree.info[0].edges)
    if node == len(tree.nodes) or first + contract.max_legal_actions(game) > len(tree.edges):
        return -1
    count = legal_in_tree(game, tree, state, parent, tree.edges.action[first:])
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
    here.in_flight = 0
    here.num_edges = count
    here.proof = NONE
    here.plies = 0
    here.status = PENDING
    here.depth = tree.nodes[parent].depth + passed if parent >= 0 else 0
    tree.info[0].depth = max(tree.info[0].depth, here.depth)
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
    if parent >= 0 and here.proof == NONE:
        look_ahead(game, tree, node)
    return node


@hot
def prepare(game, tree, constants):
    """Prepare an OPEN root for its search, once: noise (Silver et al. 2017), and what is proven at once."""
    if tree.nodes[0].status == OPEN and tree.info[0].root_prepared == 0:
        tree.info[0].root_prepared = 1
        if constants.noise_epsilon > 0.0:
            add_noise(tree, constants)
        prove_root(game, tree)


@inner
def add_noise(tree, constants):
    """Mix Dirichlet noise into the priors of the root."""
    first, count = np.int64(tree.nodes[0].first_edge), np.int64(tree.nodes[0].num_edges)
    noise = np.empty(count)
    total = 1e-300
    for i in range(count):
        noise[i] = gamma(tree.info, constants.noise_alpha)
        total += noise[i]
    for i in range(count):
        edge, share = tree.edges[first + i], np.float32(noise[i] / total)
        edge.prior = (1.0 - constants.noise_epsilon) * edge.prior + constants.noise_epsilon * share


@inner
def prove_root(game, tree):
    """Prove the edges of a root that win at once or by the tablebase; all of them if it has the root.

    The search ends with the first proven win: it must not find a longer one before these. Below the root a
    tablebase position is a leaf; at the root the distances of all children are needed, to play the shortest
    win or the longest loss.
    """
    root = tree.nodes[0]
    state = contract.load_state(game, root.state)
    if root.proof != NONE:
        return
    root_proof, _ = contract.tablebase_value(game, state)
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    for e in range(root.first_edge, root.first_edge + root.num_edges):
        after, passed = contract.play(game, state, tree.edges[e].action)
        _, proof, plies = terminal_or_tablebase(game, tree, after, 0, contract.legal(game, after, actions))
        if proof == (LOSS if passed else WIN) or (proof != NONE and root_proof != NONE):
            set_proof(tree, e, proof, plies, passed)
    prove_node(tree, 0)
    if root_proof == DRAW and tree.nodes[0].proof == NONE:
        # The edges without a proof are tablebase losses that the halfmove clock might turn into draws: none
        # is better than a draw.
        tree.nodes[0].proof = DRAW


@hot
def descend(game, tree, constants, node, e):
    """Run the selection and expansion of one simulation: follow edges from a root that is not proven.

    `node` and `e` are where the descent ends, if that is known (see `traverse_trees`); else `e` is -1.
    Returns how it ended, and a node. (LEAF, node): a node to evaluate; its path is counted as in flight.
    (BACKED_UP, node): a proven node or a transposition, whose value was backed up. (COLLISION, node): a leaf
    that is in flight already. (FULL, -1): there is no room for another node. The last two change nothing.
    """
    if tree.nodes[0].status == NEW:
        tree.nodes[0].status = PENDING
        return LEAF, np.int64(0)
    if tree.nodes[0].status == PENDING:
        return COLLISION, np.int64(0)
    if e < 0:
        node, e = np.int64(0), np.int64(puct_edge(tree, 0, constants))
        while tree.edges[e].child >= 0 and not ends_descent(tree, np.int64(tree.edges[e].child)):
            node = np.int64(tree.edges[e].child)
            e = np.int64(puct_edge(tree, node, constants))
    child = np.int64(tree.edges[e].child)
    is_new = child < 0
    if is_new:
        state = contract.load_state(game, tree.nodes[node].state)
        state, passed = contract.play(game, state, tree.edges[e].action)
        prefetch_transposition(tree, state)
        child = np.int64(add_node(game, tree, state, node, e, passed))
        if child < 0:
            return FULL, np.int64(-1)
        tree.edges[e].child = child
    if tree.nodes[child].proof != NONE:
        value = PROOF_VALUE[tree.nodes[child].proof]
    elif not is_new:
        return COLLISION, child
    else:
        is_shared, value = share_evaluation(tree, child)
        if not is_shared:
            add_in_flight(tree, child, 1)
            return LEAF, child
    backup(tree, child, value, 0)
    return BACKED_UP, child


@hot
def ends_descent(tree, node):
    """Return whether a descent goes no further than this node: it is proven or PENDING."""
    return (tree.nodes[node].proof != NONE) | (tree.nodes[node].status == PENDING)


@hot
def add_in_flight(tree, node, count):
    """Add `count` (1 or -1) to `in_flight` of the edges on the path to a node, and of their nodes."""
    parent = np.int64(tree.nodes[node].parent)
    while parent >= 0:
        tree.edges[tree.nodes[node].parent_edge].in_flight += count
        tree.nodes[parent].in_flight += count
        node = parent
        parent = np.int64(tree.nodes[node].parent)


@hot
def backup(tree, node, value, in_flight):
    """Back a value up from a node to the root: N += 1 and W += value, and proofs as far as they reach.

    A proven node passes the value of its proof on instead of the simulation's. `value` is in [-1, 1], for the
    side to move at `node`; `in_flight` is 1 if the path was counted as in flight, else 0.
    """
    tree.info[0].simulations += 1
    tree.nodes[node].visits += 1
    tree.nodes[node].value_sum += value
    parent = np.int64(tree.nodes[node].parent)
    while parent >= 0:
        here, e = tree.nodes[node], np.int64(tree.nodes[node].parent_edge)
        value = value * here.sign
        if here.proof != NONE and tree.edges[e].proof == NONE:
            set_proof(tree, e, np.int64(here.proof), np.int64(here.plies), here.sign < 0)
            prove_node(tree, parent)
        tree.edges[e].visits += 1
        tree.edges[e].value_sum += value
        tree.edges[e].in_flight -= in_flight
        tree.nodes[parent].in_flight -= in_flight
        if tree.nodes[parent].proof != NONE:
            value = PROOF_VALUE[tree.nodes[parent].proof]
        tree.nodes[parent].visits += 1
        tree.nodes[parent].value_sum += value
        node = parent
        parent = np.int64(tree.nodes[node].parent)


@hot
def logits_to_priors(tree, node):
    """Replace the logits that stand in the priors of a node's edges by their softmax.

    Returns the sum of the exponentials: NaN or infinite if a logit is.
    """
    first, end = tree.nodes[node].first_edge, tree.nodes[node].first_edge + tree.nodes[node].num_edges
    max_logit = -np.inf
    for e in range(first, end):
        max_logit = max(max_logit, tree.edges[e].prior)
    total = 0.0
    for e in range(first, end):
        p = np.exp(tree.edges[e].prior - max_logit)
        tree.edges[e].prior = p
        total += p
    for e in range(first, end):
        tree.edges[e].prior /= total
    return total


# --- the move to play -------------------------------------------------------------------------------


@inner
def best_root_edge(tree):
    """Return the index of the root edge to play, without randomness.

    The shortest proven win; else, among edges not proven lost (if the root is a proven draw: among proven
    draws), the most visits, then the highest Q, the highest prior, the lowest action; if all edges lose, the
    longest loss.
    """
    best = np.int64(tree.nodes[0].first_edge)
    for e in range(best + 1, best + tree.nodes[0].num_edges):
        if rank(tree, e) > rank(tree, best):
            best = e
    return best


@inner
def rank(tree, e):
    """Return what a root edge ranks by in `best_root_edge`, a tuple."""
    edge = tree.edges[e]
    won, lost = edge.proof == WIN, edge.proof == LOSS
    drawn = tree.nodes[0].proof == DRAW and edge.proof == DRAW
    q = edge.value_sum / max(1, edge.visits)
    return won, not lost, drawn, np.int64(edge.plies) * (lost - won), edge.visits, q, edge.prior


@hot
def keep_subtree(game, tree, e, scratch):
    """Make the child of root edge `e` the new root, keep its subtree and drop the other nodes.

    The history gains the old root. The new root keeps its `sign`: whether the action passed the turn. No leaf
    may be in flight. `scratch` is `[C, 2]` int32, overwritten. Returns whether there is a subtree. A child
    that does not exist or was never evaluated (it was proven when added) has none: then only its state and
    `sign` stand in node 0, for `reset`.
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
    above, deepest = nodes[new_root].depth, 0
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
        nodes[kept].depth -= above
        deepest = max(deepest, nodes[kept].depth)
        for i in range(first, first + count):
            edges[kept_edges] = edges[i]
            edges[kept_edges].child = -1
            kept_edges += 1
        kept += 1
    tree.info[0].nodes = kept
    tree.info[0].edges = kept_edges
    tree.info[0].depth = deepest
    tree.info[0].root_prepared = 0
    refill_transpositions(tree)
    return True


# --- proofs -----------------------------------------------------------------------------------------


@inner
def set_proof(tree, e, proof, plies, passed):
    """Set the proof of edge `e` from the proof of the state it leads to, `plies` from the end of the game.

    `passed` says whether the edge passes the turn: win and loss are then swapped, and it is 1 ply.
    """
    if passed:
        proof = LOSS if proof == WIN else WIN if proof == LOSS else DRAW
        plies += 1
    tree.edges[e].proof = proof
    tree.edges[e].plies = plies


@inner
def prove_node(tree, node):
    """Set the proof of a node if its edges suffice.

    The shortest win if an edge wins; else, once all edges are proven, a draw if one draws, or the longest
    loss.
    """
    first = tree.nodes[node].first_edge
    win_plies, loss_plies = -1, -1
    any_unproven, any_draw = False, False
    for e in range(first, first + tree.nodes[node].num_edges):
        proof = tree.edges[e].proof
        plies = np.int64(tree.edges[e].plies)
        if proof == WIN:
            if win_plies < 0 or plies < win_plies:
                win_plies = plies
        elif proof == DRAW:
            any_draw = True
        elif proof == LOSS:
            loss_plies = max(loss_plies, plies)
        else:
            any_unproven = True
    if win_plies >= 0:
        tree.nodes[node].proof = WIN
        tree.nodes[node].plies = win_plies
    elif not any_unproven:
        tree.nodes[node].proof = DRAW if any_draw else LOSS
        tree.nodes[node].plies = 0 if any_draw else loss_plies


@contract.by_class(INNER)
def look_ahead(rules):
    """Let kernels call `_prove_terminal_children` in games with `LOOKAHEAD`."""
    return _prove_terminal_children if rules.LOOKAHEAD else lambda game, tree, node: None


def _prove_terminal_children(game, tree, node):
    # Not for the root: its edges need priors and visits.
    here = tree.nodes[node]
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    for e in range(here.first_edge, here.first_edge + here.num_edges):
        state, passed = contract.play(game, contract.load_state(game, here.state), tree.edges[e].action)
        over, value = contract.outcome(game, state, contract.legal(game, state, actions))
        if over:
            set_proof(tree, e, WIN if value > 0 else LOSS if value < 0 else DRAW, 0, passed)
    prove_node(tree, node)


# --- repetitions ------------------------------------------------------------------------------------


@inner
def append_history(game, tree, state, next_state):
    """Add the key of `state`, whose successor is `next_state`, to the tree's history.

    The history is cleared instead if no state up to `state` can occur again after `next_state`.
    """
    if contract.repetition_window(game, next_state) == 0:
        tree.info[0].history_length = 0
        return
    n = tree.info[0].history_length
    capacity = tree.history.shape[0]
    if n == capacity:
        for i in range(1, n):
            for word in range(tree.history.shape[1]):
                tree.history[i - 1, word] = tree.history[i, word]
        n -= 1
    contract.store_state(tree.history[n], contract.key(game, state))
    tree.info[0].history_length = n + 1


@hot
def count_repetitions(game, tree, state, parent):
    """Return how often `state`, a child of node `parent`, has occurred, on the path and in the history."""
    window = contract.repetition_window(game, state)
    key = contract.key(game, state)
    occurrences = 1
    node = parent
    while node >= 0 and window > 0:
        other = contract.key(game, contract.load_state(game, tree.nodes[node].state))
        if other == key:
            occurrences += 1
        window -= 1
        node = tree.nodes[node].parent
    i = tree.info[0].history_length - 1
    while i >= 0 and window > 0:
        # One word tells almost all states apart; loading the others costs most of the time in a long game.
        if tree.history[i, 0] == key[0] and contract.load_state(game, tree.history[i]) == key:
            occurrences += 1
        window -= 1
        i -= 1
    return occurrences


@inner
def legal_in_tree(game, tree, state, parent, out):
    """As `contract.legal`, without forbidden repetitions; `state` is a child of `parent`, -1 at the root."""
    count = contract.legal(game, state, out)
    kept = 0
    for i in range(count):
        action = np.int64(out[i])
        if contract.may_repeat(game, state, action):
            after, _ = contract.play(game, state, action)
            if contract.key(game, after) == contract.key(game, state):
                continue
            if count_repetitions(game, tree, after, parent) > 1:
                continue
        out[kept] = action
        kept += 1
    return kept
