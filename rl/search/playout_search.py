"""MCTS without a network: a random playout evaluates each leaf, all in Numba.

In the spirit of UCT (Kocsis, Szepesvari 2006), but with the trees, proofs and repetitions of the other
search, and its PUCT with equal priors instead of UCB1. An opponent without a network, of any strength.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.game.jit import compile_for, inner, kernel
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games import contract
from ckai.rl.games.contract import NONE
from ckai.rl.games.playouts import playout
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.mcts import BACKED_UP, LEAF, backup, descend, get_tree, prove_tablebase_root
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import SearchConstants, prepare_root

ROLLOUT_CONSTANTS = SearchConstants(c_init=3.0)
"""Constants that suit equal priors over about 8 actions."""


@inner
def uct_search(game, tree, target_visits, constants):
    """Search one tree until its root has `target_visits` or is proven, or the tree is full.

    Returns:
        The number of playouts.
    """
    trace = np.empty(0, np.uint8)
    info = tree.info
    info[0].target_visits = target_visits
    num_playouts = 0
    while tree.nodes[0].visits < target_visits and tree.nodes[0].proof == NONE:
        if tree.nodes[0].status == OPEN and not info[0].root_prepared:
            prepare_root(tree, constants)
            prove_tablebase_root(game, tree)
        ending, node = descend(game, tree, constants)
        if ending == LEAF:
            here = tree.nodes[node]
            for e in range(here.first_edge, here.first_edge + here.num_edges):
                tree.edges[e].prior = 1.0 / here.num_edges
            here.status = OPEN
            value, stream, _, _ = playout(game, contract.load_state(game, here.state), info[0].rng, trace)
            info[0].rng = stream
            backup(tree, node, value, 1)
            num_playouts += 1
        elif ending != BACKED_UP:
            break
    return num_playouts


@kernel
def uct_search_all(game, trees, target_visits, chunk, constants):
    """Search every tree until its root has `target_visits[t]`, or `chunk` visits more than now.

    Returns:
        The number of playouts, of all trees.
    """
    num_playouts = 0
    for t in range(len(target_visits)):
        tree = get_tree(trees, t)
        target = min(np.int64(target_visits[t]), tree.nodes[0].visits + chunk)
        num_playouts += uct_search(game, tree, target, constants)
    return num_playouts


class RolloutSearcher(Searcher):
    """A `Searcher` whose leaves are evaluated by random playouts inside the kernels."""

    def __init__(
        self,
        *,
        trees: int = 1,
        nodes: int = 1024,
        constants: SearchConstants = ROLLOUT_CONSTANTS,
        game: Any = None,
        seed: int = 0,
        chunk: int = 512,
    ) -> None:
        """Allocate the trees.

        Args:
            trees: T, number of trees.
            nodes: capacity of a tree in nodes; a search ends when its tree is full.
            constants: constants of the search.
            game: the rules, see `ckai.rl.games.contract`; None: checkers.
            seed: seed of the playouts, and of the noise at the roots if there is any.
            chunk: most simulations of one tree in a `step`; 512 take about 2 ms.
        """
        evaluator = RolloutEvaluator(seed=seed)
        self.chunk = chunk
        super().__init__(evaluator, trees=trees, nodes=nodes, constants=constants, game=game, seed=seed)

    def _compile_step(self, batch: Any, visits: NDArray[np.int32]) -> None:
        compile_for(uct_search_all, self.game, self.tree_batch, visits, self.chunk, self.constants)

    def step(self, visits: NDArray[np.int32]) -> int:
        """Run at most `chunk` simulations in every tree.

        Args:
            visits: `[T]`, visit count at which the search of each root ends.

        Returns:
            The number of playouts, 0 once all searches have ended. No leaf stays in flight.
        """
        num_playouts: int = uct_search_all(self.game, self.tree_batch, visits, self.chunk, self.constants)
        self.evaluations += num_playouts
        return num_playouts
