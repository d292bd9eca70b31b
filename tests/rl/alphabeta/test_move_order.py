"""The engine ranks moves as the search does: the order of a node's edges and the sorting keys agree."""

from functools import cache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ckai.game import Position
from ckai.rl import TreeEngine
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.contract import DRAW, LOSS, NONE, WIN

START = Position.start()
EDGES = len(START.legal_moves())
PROOFS = st.sampled_from([NONE, WIN, LOSS, DRAW])
EDGE = st.tuples(
    PROOFS,
    st.integers(0, 4),  # plies
    st.integers(0, 3),  # visits
    st.sampled_from([-1.0, -0.5, 0.0, 0.5]),  # mean value
    st.sampled_from([0.125, 0.25]),  # prior
)


@cache
def searched():
    """An engine whose tree has the start position evaluated, at the root."""
    engine = TreeEngine(UniformEvaluator(), batches=1)
    engine.search(START, sims=EDGES + 1)
    return engine


@settings(max_examples=400)
@given(proof=PROOFS, figures=st.lists(EDGE, min_size=EDGES, max_size=EDGES))
def test_the_search_and_the_engine_prefer_the_same_move(proof, figures):
    tree = searched()._tree
    searcher = tree.searcher
    root = searcher.root(0)
    first = root["first_edge"]
    root["proof"] = proof
    for edge, (proven, plies, visits, mean, prior) in zip(
        searcher.tree_batch.edges[0, first : first + EDGES], figures, strict=True
    ):
        edge["proof"], edge["plies"], edge["visits"] = proven, plies, visits
        edge["value_sum"], edge["prior"] = visits * mean, prior

    chosen = searcher.best(0)
    best = tree._best(START, 0)
    assert best.actions == (chosen,)
    ranks = {move: tree._figures(START, 0, move).rank(proof) for move in START.legal_moves()}
    assert ranks[best] == max(ranks.values())


def test_the_tree_has_the_moves_of_the_position():
    edges = searched()._tree.searcher.root_edges(0)
    actions = [action for move in START.legal_moves() for action in move.actions]
    assert sorted(edges["action"].tolist()) == sorted(actions)
    assert np.unique(edges["action"]).size == EDGES
