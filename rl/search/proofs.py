"""Proofs of nodes: what a finished part of the tree says of its parents.

They follow the MCTS-Solver (Winands, Bjornsson, Saito 2008), with draws: a node is won if an edge wins, and
takes the best of its edges once all are proven. Distances are in plies. Arguments are named as in
`ckai.rl.search.mcts`.
"""

import numpy as np
from numba.extending import overload

from ckai.game.jit import INNER, inner
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN

PROOF_VALUE = np.array([0.0, 1.0, -1.0, 0.0])
"""Value of each proof: NONE (unused), WIN, LOSS, DRAW."""
MAX_SHORTENED = 20_000
"""Most positions that are looked at for shorter ways to a proven end: about a millisecond."""


@inner
def set_proof(tree, e, proof, plies, passed):
    """Set the proof of edge `e` from that of the state it leads to, `plies` from the end of the game.

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


def _for_lookahead(function):
    """Compile a function for games with `LOOKAHEAD` alone: for others it does nothing."""

    @overload(function, jit_options=INNER, strict=False)
    def select(game, tree, node):
        return function if game.instance_class.LOOKAHEAD else lambda game, tree, node: None

    return function


@_for_lookahead
def prove_terminal_children(game, tree, node):
    """Prove the edges of a new node that end the game at once, and the node if they suffice.

    Not for the root: its edges need priors and visits.
    """
    here = tree.nodes[node]
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    for e in range(here.first_edge, here.first_edge + here.num_edges):
        state, passed = contract.play(game, contract.load_state(game, here.state), tree.edges[e].action)
        over, value = contract.outcome(game, state, contract.legal(game, state, actions))
        if over:
            set_proof(tree, e, WIN if value > 0 else LOSS if value < 0 else DRAW, 0, passed)
    prove_node(tree, node)


@_for_lookahead
def shorten_proof(game, tree, node):
    """Look for shorter wins of the side that wins at a proven root, `node`, over each of its edges; once.

    A proof has the first win that the search met after every move. The edges get the distances of the
    shortest, in order of length, as far as `MAX_SHORTENED` positions reach.
    """
    here, left = tree.nodes[node], np.full(1, MAX_SHORTENED)
    if here.proof == NONE or tree.info[0].root_prepared != 1 or contract.repetitions(game) > 0:
        return
    tree.info[0].root_prepared = 2
    state, plies = contract.load_state(game, here.state), 1
    while plies < here.plies and left[0] > 0:
        for e in range(here.first_edge, here.first_edge + here.num_edges):
            edge = tree.edges[e]
            if edge.proof == NONE or (edge.proof == here.proof and edge.plies > plies):
                after, passed = contract.play(game, state, edge.action)
                mover_wins = passed == (here.proof == LOSS)
                if _wins_within(game, after, plies - passed, mover_wins, left):
                    set_proof(tree, e, WIN if mover_wins else LOSS, plies - passed, passed)
        prove_node(tree, node)
        plies += 1


@inner
def _wins_within(game, state, plies, mover_wins, left):
    """Return whether one side has won within so many plies, whatever the other does.

    `mover_wins` says whether it is the side to move; `left`, `[1]` int64, are the positions that may still be
    looked at: once there are none, nothing is found won.
    """
    actions = np.empty(contract.max_legal_actions(game), np.uint8)
    count = contract.legal(game, state, actions)
    over, value = contract.outcome(game, state, count)
    left[0] -= 1
    if over or plies <= 0 or left[0] <= 0:
        return over and value == (1.0 if mover_wins else -1.0)
    for action in actions[:count]:
        after, passed = contract.play(game, state, action)
        if _wins_within(game, after, plies - passed, mover_wins != passed, left) == mover_wins:
            return mover_wins
    return not mover_wins
