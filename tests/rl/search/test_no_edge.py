"""A tree with numbers that are not finite ends a search with an error: no descent goes on for ever."""

from functools import partial

import numpy as np
import pytest
import torch

from ckai.game import Position
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.registry import build
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.games.checkers import pack
from ckai.rl.games.registry import get_game
from ckai.rl.search.inline_search import InlineSearcher
from ckai.rl.search.searcher import Searcher
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.group import Group, Player, SelfPlayCounts

MESSAGE = "expected an edge to follow at every node of the tree, found a node without one"


def integers():
    torch.manual_seed(3)
    return IntegerEvaluator(build("swift", {"hidden": 16, "narrow": 8, "narrowest": 8}))


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("make", [Searcher, InlineSearcher])
def test_a_search_ends_with_an_error_and_begins_again(make, below):
    searcher = make(integers(), nodes=600)
    searcher.set_root(0, pack(Position.start()))
    searcher.run(np.array([100], np.int32))
    first = int(searcher.root(0)["num_edges"]) if below else 0
    searcher.tree_batch.edges[0, first:]["prior"] = np.nan
    with pytest.raises(ValueError, match=MESSAGE):
        searcher.run(np.array([600], np.int32))
    searcher.discard()
    assert searcher.in_flight == 0
    assert searcher.root(0)["visits"] == 0
    searcher.run(np.array([50], np.int32))
    assert searcher.root(0)["visits"] == 50


def test_self_play_ends_with_an_error():
    spec = get_game("checkers")
    config = SelfPlayConfig(sims=20, in_flight=3, groups=1, tables=0)
    numbers = iter(range(3))
    take, start = partial(next, numbers, None), Position.start()
    group = Group(Player(UniformEvaluator()), config, spec, 3, take, lambda n: start, seed=0)
    counts = SelfPlayCounts()
    for _ in range(8):
        assert group.step(lambda game: None, counts)
    group.tree_batch.edges["prior"] = np.nan
    group.slots = 0  # nothing is backed up, so that the next descent meets the numbers first
    with pytest.raises(ValueError, match=MESSAGE):
        group.step(lambda game: None, counts)
