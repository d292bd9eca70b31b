"""A tree evaluates a position once; but for that it is the tree that evaluates every node."""

from collections import Counter
from contextlib import closing

import numpy as np
import pytest
from tree_game import endless
from tree_search import CONSTANTS

from ckai.game import Position
from ckai.rl.evaluators.rollout import RolloutEvaluator
from ckai.rl.games.checkers import pack
from ckai.rl.search.arrays import OPEN
from ckai.rl.search.searcher import Searcher

START = pack(Position.start())
EXACT = ["state", "visits", "parent", "parent_edge", "first_edge", "num_edges", "sign", "status", "proof"]


class Counted:
    """An evaluator that counts what it is asked; its answers are hashes of the position."""

    name = "counted"

    def __init__(self):
        self.asked = Counter()

    def evaluate(self, boards, out_logits, out_values):
        for i, board in enumerate(boards):
            self.asked[board.tobytes()] += 1
            rng = np.random.default_rng(list(board.view(np.uint8)))
            out_logits[i] = rng.normal(0.0, 1.0, out_logits.shape[1])
            out_values[i] = rng.uniform(-1.0, 1.0)
        return out_logits, out_values


def searched(evaluator, visits=1500, state=START, moves=0, **settings):
    searcher = Searcher(evaluator, nodes=4000, constants=CONSTANTS, **settings)
    with closing(searcher):
        searcher.set_root(0, state)
        searcher.run(np.array([visits], np.int32))
        for _ in range(moves):
            searcher.play(0, searcher.best(0))
            searcher.run(np.array([visits], np.int32))
    return searcher


def same_trees(searcher, other):
    used = searcher.tree_batch.info[0]
    ours, theirs = (s.tree_batch.nodes[0, : used["nodes"]] for s in (searcher, other))
    for field in EXACT:
        assert (ours[field] == theirs[field]).all()
    np.testing.assert_allclose(ours["value_sum"], theirs["value_sum"], atol=1e-9)
    edges, other_edges = (s.tree_batch.edges[0, : used["edges"]] for s in (searcher, other))
    for field in ("visits", "prior", "child", "action", "proof"):
        assert (edges[field] == other_edges[field]).all()


@pytest.mark.parametrize("moves", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_the_tree_is_that_of_a_search_which_evaluates_every_node(moves):
    evaluator, other = Counted(), Counted()
    sharing = searched(evaluator, moves=moves)
    same_trees(sharing, searched(other, moves=moves, transpositions=False))
    assert set(evaluator.asked) == set(other.asked)
    assert evaluator.asked.total() < 0.95 * other.asked.total()
    if not moves:  # one at a time, no evaluation is in flight when another could take it
        states = sharing.tree_batch.nodes[0, : sharing.tree_batch.info["nodes"][0]]["state"]
        assert evaluator.asked.total() == len(np.unique(states, axis=0))


def test_what_is_in_flight_is_not_waited_for():
    evaluator = Counted()
    sharing = searched(evaluator, leaves=8, batches=2, visits_per_leaf=20)
    nodes = sharing.tree_batch.nodes[0, : sharing.tree_batch.info["nodes"][0]]
    assert (nodes["status"][nodes["proof"] == 0] == OPEN).all()
    assert sharing.root(0)["visits"] == 1500 > evaluator.asked.total()


def test_noise_at_a_root_stays_there():
    game, oracle = endless(np.random.default_rng(5), states=60)
    noisy = CONSTANTS._replace(noise_epsilon=0.5)
    with closing(Searcher(oracle, nodes=4000, constants=noisy, game=game, seed=1)) as searcher:
        searcher.set_root(0, (0, 0))
        for _ in range(3):
            searcher.run(np.array([800], np.int32))
            searcher.play(0, searcher.best(0))
        searcher.run(np.array([800], np.int32))
    nodes, edges = searcher.tree_batch.nodes[0], searcher.tree_batch.edges[0]
    root = nodes["state"][0, 0]
    assert root in nodes["state"][1 : searcher.tree_batch.info["nodes"][0], 0]
    for node in nodes[1 : searcher.tree_batch.info["nodes"][0]]:
        here = edges[node["first_edge"] :][: node["num_edges"]]
        expected = np.exp(oracle.logits[node["state"][0], here["action"]])
        np.testing.assert_allclose(here["prior"], expected / expected.sum(), rtol=1e-5)


def test_two_playouts_of_a_position_are_two_samples():
    searcher = Searcher(RolloutEvaluator(), nodes=2000)
    searcher.set_root(0, START)
    searcher.run(np.array([1500], np.int32))
    assert searcher.tree_batch.transpositions.size == 0
    assert searcher.root(0)["visits"] == 1500
