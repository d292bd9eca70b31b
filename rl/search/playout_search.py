"""Vanilla Monte Carlo tree search: a random playout evaluates each leaf, all of it in Numba.

UCT (Kocsis, Szepesvari 2006) over the same trees as the network's search, with its proofs and repetitions:
an opponent without a network, at any number of simulations. Selection is the search's PUCT with equal
priors.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import inner, kernel
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE
from ckai.rl.games.playouts import playout
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.mcts import BACKED_UP, LEAF, backup, descend, get_tree, prove_tablebase_root
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import Puct, prepare_root

ROLLOUT_PUCT = Puct(c_init=3.0)
"""Equal priors over about eight actions want this much exploration."""


@inner
def uct_search(game, tree, visits, puct):
    """Search until the root has `visits`, is proven, or the tree is full; return the playouts."""
    trace = np.empty(0, np.uint8)
    info = tree.info
    info[0].target_visits = visits
    played = 0
    while tree.nodes[0].visits < visits and tree.nodes[0].proof == NONE:
        if tree.nodes[0].status == OPEN and not info[0].root_prepared:
            prepare_root(tree, puct)
            prove_tablebase_root(game, tree)
        found, node = descend(game, tree, puct)
        if found == LEAF:
            here = tree.nodes[node]  # open, with equal priors
            for e in range(here.first_edge, here.first_edge + here.num_edges):
                tree.edges[e].prior = 1.0 / here.num_edges
            here.status = OPEN
            value, stream, _, _ = playout(game, contract.load_state(game, here.state), info[0].rng, trace)
            info[0].rng = stream
            backup(tree, node, value, 1)
            played += 1
        elif found != BACKED_UP:
            break
    return played


@kernel
def uct_search_all(game, f, visits, most, puct):
    """Search every tree until its root has `visits[t]`, at most `most` further ones; return the playouts."""
    played = 0
    for t in range(len(visits)):
        tree = get_tree(f, t)
        played += uct_search(game, tree, min(np.int64(visits[t]), tree.nodes[0].visits + most), puct)
    return played


class RolloutSearcher(Searcher):
    """T searches with playouts side by side, without a call to Python for a leaf."""

    def __init__(
        self,
        *,
        trees: int = 1,
        nodes: int = 1024,
        puct: Puct = ROLLOUT_PUCT,
        game: Any = None,
        seed: int = 0,
        chunk: int = 4096,
    ) -> None:
        """Plant the trees.

        Args:
            trees: T.
            nodes: most nodes of a tree; a search that needs more stops there.
            puct: constants of the search.
            game: its rules, any game of `ckai.rl.games.contract`; checkers if None.
            seed: of the playouts (and of noise at the roots, if there is any).
            chunk: simulations of one tree in a `step`, some 20 ms.
        """
        evaluator = RolloutEvaluator(seed=seed)
        super().__init__(evaluator, trees=trees, nodes=nodes, puct=puct, game=game, seed=seed)
        self.chunk = chunk

    def step(self, visits: NDArray[np.int32]) -> int:
        """Search every tree on by at most `chunk` simulations. Returns the playouts; none stays in flight."""
        played: int = uct_search_all(self.game, self.tree_batch, visits, self.chunk, self.puct)
        self.evaluations += played
        return played
