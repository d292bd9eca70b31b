"""Searches that evaluate inside the kernels find what a search in batches of one finds."""

import numpy as np
import pytest
import torch

from ckai.game import Position
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.inference.torch_backend import TorchEvaluator
from ckai.models.registry import build
from ckai.rl.engine.tree import TreeEngine
from ckai.rl.games.checkers import pack
from ckai.rl.games.connect4 import Connect4
from ckai.rl.search.inline_search import InlineSearcher, make_searcher
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import GUMBEL, SearchConstants
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import play_games


def evaluator(encoding="pieces"):
    torch.manual_seed(3)
    return IntegerEvaluator(build("swift", {"hidden": 32, "narrow": 8, "narrowest": 8, "encoding": encoding}))


def searched(searcher, state, visits):
    searcher.set_root(0, state)
    searcher.run(np.array([visits], np.int32))
    used = searcher.tree_batch.info[0]
    return (
        searcher.tree_batch.nodes[0, : used["nodes"]].tobytes(),
        searcher.tree_batch.edges[0, : used["edges"]].tobytes(),
    )


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_the_tree_is_that_of_batches_of_one(chunk):
    network, state = evaluator(), pack(Position.start())
    inline = InlineSearcher(network, nodes=600, chunk=chunk)
    assert searched(inline, state, 500) == searched(Searcher(network, nodes=600), state, 500)
    assert inline.root(0)["visits"] == 500


def test_gumbel_plans_for_all_visits_and_not_for_those_of_a_step():
    network, state = evaluator(), pack(Position.start())
    constants = SearchConstants(root_rule=GUMBEL, gumbel_noise=0.0)
    steps, whole = (
        InlineSearcher(network, nodes=600, constants=constants, chunk=chunk) for chunk in (7, 10_000)
    )
    assert searched(steps, state, 500) == searched(whole, state, 500)


@pytest.mark.slow
def test_other_games_are_searched():
    network = evaluator("connect4")
    trees = [make(network, nodes=400, game=Connect4()) for make in (InlineSearcher, Searcher)]
    assert searched(trees[0], (0, 0), 300) == searched(trees[1], (0, 0), 300)


def test_the_factory_takes_the_search_that_suits():
    assert isinstance(make_searcher(evaluator()), InlineSearcher)
    network = TorchEvaluator(build("swift", {"hidden": 8}))
    assert not isinstance(make_searcher(network), InlineSearcher)


def test_an_engine_searches_with_integers():
    with TreeEngine(evaluator(), nodes=2000) as engine:
        result = engine.search(Position.start(), sims=300)
        assert result.sims == 300
        assert result.evaluations > 0
        assert len(engine.policy(Position.start()).priors) == 7


def test_selfplay_evaluates_legal_actions_alone_and_plays_the_same():
    class InBatches:
        """The same evaluations, all actions at once."""

        def __init__(self, inner):
            self.name, self.evaluate = "in batches", inner.evaluate

    def games(network):
        played = []
        config = SelfPlayConfig(sims=12, in_flight=6, tables=0, groups=1)
        play_games(network, config, range(6), seed=1, on_game=played.append)
        return {game.number: repr(game.rows.tolist()) for game in played}

    assert games(evaluator()) == games(InBatches(evaluator()))
