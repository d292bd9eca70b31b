"""How self-play draws its actions from the visits of a search."""

import numpy as np
import pytest
from numba import njit
from tree_game import Leaf
from tree_search import deep, edges, search

from ckai.rl.games.contract import LOSS
from ckai.rl.search.mcts import get_tree
from ckai.rl.selfplay import recording

draw_edge = njit(recording.draw_edge)


def shares(found, temperature, draws=20_000):
    tree, first = get_tree(found.tree_batch, 0), int(found.root(0)["first_edge"])
    drawn = [int(draw_edge(tree, temperature)) - first for _ in range(draws)]
    return np.bincount(drawn, minlength=3) / draws


def test_actions_are_drawn_by_visits_and_proven_losses_never():
    found = search(Leaf(deep(), deep(), deep()), 20)
    edges(found)["visits"][:] = [64, 16, 4]
    assert shares(found, 1.0) == pytest.approx([64 / 84, 16 / 84, 4 / 84], abs=0.015)
    assert shares(found, 2.0) == pytest.approx([8 / 14, 4 / 14, 2 / 14], abs=0.015)
    edges(found)["proof"][0] = LOSS
    assert shares(found, 1.0) == pytest.approx([0, 0.8, 0.2], abs=0.015)
    edges(found)["proof"][:] = LOSS
    assert set(shares(found, 1.0)) == {0.0, 1.0}
