"""Proofs of nodes: what a finished part of the tree says of its parents.

They follow the MCTS-Solver (Winands, Bjornsson, Saito 2008), with draws: a node is won if an edge wins, and
takes the best of its edges once all are proven. Edges proven won or lost are not searched again; proven draws
are, and count as visits of value 0. Distances are in plies. Arguments are named as in `ckai.rl.search.mcts`.
"""

import numpy as np

from ckai.game.jit import inner
from ckai.rl.games import contract
from ckai.rl.games.contract import DRAW, LOSS, WIN

PROOF_VALUE = np.array([0.0, 1.0, -1.0, 0.0])
"""Value of each proof: NONE (unused), WIN, LOSS, DRAW."""


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


@contract.only_with("LOOKAHEAD", lambda game, tree, node: None)
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
