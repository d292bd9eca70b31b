"""PUCT, the rule that selects an edge.

PUCT, as in AlphaZero (Silver et al. 2018), selects the edge with the largest

    Q(s, a) + c(s) P(s, a) sqrt(N(s)) / (1 + N(s, a)),    c(s) = log((1 + N(s) + c_base) / c_base) + c_init

N(s) includes the node's own evaluation. A leaf in flight counts as a visit in N(s) and N(s, a) but not in Q:
the unobserved sample count of WU-UCT (Liu et al. 2020). An edge without visits has Q = W(s) / N(s). Ties go
to the lower action.

In every kernel `tree` is a `ckai.rl.search.arrays.Tree` and `constants` the `SearchConstants`; the result or
`e` is the index of an edge.
"""

from typing import NamedTuple

import numpy as np

from ckai.game.jit import choose, hot
from ckai.rl.games.contract import DRAW, LOSS, NONE

ALPHAZERO_C_BASE = 19652.0
"""c_base of AlphaZero: c(s) hardly grows in searches of some thousand visits."""


class SearchConstants(NamedTuple):
    """Constants of the search, with the symbols of AlphaZero."""

    c_init: float = 0.6
    """Exploration constant of PUCT, 0 or more."""
    c_base: float = 500.0
    """Visit count N(s) at which c(s) has grown by log 2, above 0; 19652 in AlphaZero."""
    noise_alpha: float = 1.0
    """Dirichlet concentration for each legal action at the root, above 0."""
    noise_epsilon: float = 0.0
    """Weight of the Dirichlet noise in the root's priors, 0 (no noise) to 1."""


@hot
def puct_edge(tree, node, constants):
    """Return the edge that PUCT selects at an OPEN node that is not proven."""
    here = tree.nodes[node]
    first, count = np.uint64(here.first_edge), np.uint64(here.num_edges)
    visits_of_node = here.visits + here.in_flight
    c = np.log((1.0 + visits_of_node + constants.c_base) / constants.c_base) + constants.c_init
    exploration = c * np.sqrt(visits_of_node)
    unvisited_q = here.value_sum / max(1, here.visits)
    # Of numbers that are not finite, until that is noticed, the first edge: so every descent ends.
    best, best_score = np.int64(first), -np.inf
    for e in range(first, first + count):
        # Most choices without branches: the CPU would guess too many of them wrong.
        edge = tree.edges[e]
        proof = edge.proof
        visits = np.float64(edge.visits)
        q = edge.value_sum / choose(visits == 0.0, 1.0, visits)
        q = choose(visits == 0.0, unvisited_q, q)
        if proof != NONE:  # seldom, so a branch that the CPU guesses right
            if proof == LOSS:
                continue
            q = choose(proof == DRAW, 0.0, q)
        score = q + exploration * edge.prior / (1 + edge.visits + edge.in_flight)
        better = score > best_score
        best = choose(better, np.int64(e), best)
        best_score = choose(better, score, best_score)
    return best
