"""Searches of hand-made and random trees, and their comparison with the reference in plain Python."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from slow_search import Twin
from tree_game import Leaf, draw

from ckai.rl.games.contract import DRAW, LOSS, WIN
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import SearchConstants

CONSTANTS = SearchConstants(c_init=1.5)


def search(
    root: Any, sims: int, constants: SearchConstants = CONSTANTS, leaves: int = 1, seed: int = 0
) -> Searcher:
    game, oracle, _ = draw(root)
    searcher = Searcher(oracle, nodes=2000, leaves=leaves, constants=constants, game=game, seed=seed)
    searcher.set_root(0, (0, 0))
    searcher.run(np.array([sims], np.int32))
    return searcher


def edges(searcher: Searcher, node: int = 0) -> Any:
    record = searcher.tree_batch.nodes[0, node]
    return searcher.tree_batch.edges[0, record["first_edge"] : record["first_edge"] + record["num_edges"]]


def deep(value: float = 0.0) -> Any:
    """A long line of single moves that the network evaluates as `value` for the side to move at its top."""
    node = Leaf(guess=value)
    for i in range(60):
        node = Leaf(node, guess=value if i % 2 else -value)
    return node


@st.composite
def drawings(draw_: Any, depth: int = 4) -> Any:
    """Random trees; guesses on a fine grid so that ties are ties in any arithmetic."""
    width = draw_(st.integers(0 if depth < 4 else 1, 3)) if depth else 0
    value = draw_(st.sampled_from([-1.0, 0.0, 1.0]))
    guess = draw_(st.integers(-63, 63)) / 64
    children = [(draw_(drawings(depth=depth - 1)), draw_(st.booleans())) for _ in range(width)]
    prior = [draw_(st.integers(1, 97)) / 128 for _ in range(width)] or None
    return Leaf(*children, value=value, guess=guess, prior=prior)


def same(searcher: Searcher, number: int, twin: Twin) -> None:
    record = searcher.tree_batch.nodes[0, number]
    assert (record["visits"], record["proof"], record["plies"]) == (twin.visits, twin.proof, twin.plies)
    assert record["value_sum"] == pytest.approx(twin.value_sum)
    for i, edge in enumerate(edges(searcher, number)):
        visits, _, proof, plies = twin.edge(i)
        assert (edge["visits"], edge["proof"], edge["plies"]) == (visits, proof, plies)
        assert (edge["child"] >= 0) == (twin.children[i] is not None)
        if edge["child"] >= 0:
            same(searcher, int(edge["child"]), twin.children[i])


def proof_of(leaf: Any) -> int:
    """The result for the side to move, by plain minimax."""
    if not leaf.children:
        return WIN if leaf.value > 0 else LOSS if leaf.value < 0 else DRAW
    swapped = {WIN: LOSS, LOSS: WIN, DRAW: DRAW}
    results = [swapped[proof_of(child)] if passed else proof_of(child) for child, passed in leaf.children]
    return WIN if WIN in results else DRAW if DRAW in results else LOSS
