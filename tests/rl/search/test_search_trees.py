"""The search on hand-made trees, one test per rule, and against a plain Python reference implementation."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_search import twin_search
from tree_game import Leaf, draw
from tree_search import CONSTANTS, deep, drawings, edges, same, search

from ckai.game import Position
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.checkers import Checkers, pack
from ckai.rl.games.contract import LOSS, NONE, WIN
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import SearchConstants


def test_prefers_win_over_more_visits() -> None:
    root = Leaf(deep(-0.9), Leaf(Leaf(Leaf(value=-1.0))), prior=[0.9, 0.1])
    found = search(root, 400)
    assert edges(found)["visits"][0] > edges(found)["visits"][1]
    assert found.best(0) == 1


def test_a_proven_win_ends_the_search() -> None:
    assert search(Leaf(Leaf(value=-1.0)), 1000).root(0)["visits"] == 1  # that of the root
    assert search(Leaf(Leaf(Leaf(Leaf(value=-1.0)))), 1000).root(0)["visits"] == 4


def test_avoids_the_proven_loss() -> None:
    root = Leaf(Leaf(Leaf(value=-1.0)), deep(0.9), prior=[0.9, 0.1])
    found = search(root, 40)
    assert edges(found)["proof"].tolist() == [LOSS, NONE]
    assert found.best(0) == 1


def test_all_lost_takes_the_longest_loss() -> None:
    short = Leaf(Leaf(value=-1.0))
    long = Leaf(Leaf(Leaf(Leaf(value=-1.0))))
    found = search(Leaf(short, long, prior=[0.9, 0.1]), 500)
    assert found.root(0)["proof"] == LOSS
    assert found.root(0)["plies"] == 4
    assert found.best(0) == 1


def test_two_wins_take_the_shorter() -> None:
    long = Leaf(Leaf(Leaf(value=-1.0)))
    found = search(Leaf(long, Leaf(value=-1.0), prior=[0.999, 0.001]), 60, SearchConstants(c_init=0.01))
    wins = [edge["plies"] for edge in edges(found) if edge["proof"] == WIN]
    assert edges(found)["plies"][found.best(0)] == min(wins) == found.root(0)["plies"]


def test_equal_visits_go_to_the_higher_value_then_the_lower_action() -> None:
    equal = search(Leaf(deep(), deep()), 3)
    assert edges(equal)["visits"].tolist() == [1, 1]
    assert equal.best(0) == 0
    better = search(Leaf(deep(0.1), deep(-0.1)), 3)
    assert edges(better)["visits"].tolist() == [1, 1]
    assert better.best(0) == 1


class Uneven(UniformEvaluator):
    """Takes a different time for every call."""

    def evaluate(self, boards: Any, out_logits: Any = None, out_values: Any = None) -> Any:
        time.sleep(0.0005 * (hash(boards.tobytes()) % 4))
        return super().evaluate(boards, out_logits, out_values)


def test_results_with_batches_in_flight_do_not_depend_on_threads() -> None:
    def tree(evaluator: Any) -> Any:
        searcher = Searcher(evaluator, nodes=1000, leaves=8, visits_per_leaf=4, batches=3, game=Checkers())
        searcher.set_root(0, pack(Position.start()))
        searcher.run(np.array([700], np.int32))
        searcher.flush()
        assert searcher.root(0)["visits"] == 700
        used = searcher.tree_batch.info[0]
        assert (searcher.tree_batch.edges[0]["in_flight"] == 0).all()
        return searcher.tree_batch.nodes[0, : used["nodes"]], searcher.tree_batch.edges[0, : used["edges"]]

    for mine, others in zip(tree(UniformEvaluator()), tree(Uneven()), strict=True):
        assert (mine == others).all()


def test_noise_stays_at_the_root() -> None:
    root = Leaf(Leaf(deep(), deep()), Leaf(deep(), deep()))
    found = search(root, 40, SearchConstants(c_init=1.5, noise_epsilon=0.5))
    assert not np.allclose(edges(found)["prior"], 0.5)
    assert edges(found)["prior"].sum() == pytest.approx(1.0)
    for edge in edges(found):
        assert np.allclose(edges(found, int(edge["child"]))["prior"], 0.5)


def test_a_full_tree_ends_the_search() -> None:
    game, oracle, _ = draw(Leaf(deep(), deep()))
    found = Searcher(oracle, nodes=10, constants=CONSTANTS, game=game)
    found.set_root(0, (0, 0))
    found.run(np.array([1000], np.int32))
    assert found.root(0)["visits"] == 10


def test_every_descent_ends_whatever_the_numbers() -> None:
    """As between the answer of an evaluator that is no number and the error of it."""
    found = Searcher(UniformEvaluator(), nodes=600, game=Checkers())
    found.set_root(0, pack(Position.start()))
    found.run(np.array([100], np.int32))
    found.tree_batch.edges["prior"] = np.nan
    found.run(np.array([500], np.int32))
    assert found.root(0)["visits"] == 500


def test_the_kept_subtree_is_the_same_tree() -> None:
    root = Leaf(Leaf(deep(0.2), deep(-0.1), Leaf(deep(0.3), deep(0.1))), deep(0.3), guess=0.1)
    found = search(root, 60)
    before = found.tree_batch.nodes[0].copy(), found.tree_batch.edges[0].copy()
    top = int(edges(found)["child"][0])

    def shape(nodes: Any, links: Any, node: int) -> Any:
        record = nodes[node]
        mine = links[record["first_edge"] : record["first_edge"] + record["num_edges"]]
        return (
            tuple(record["state"]), record["visits"], record["value_sum"],
            tuple(
                (e["action"], e["prior"], e["visits"], e["value_sum"], e["proof"],
                 shape(nodes, links, e["child"]) if e["child"] >= 0 else None)
                for e in mine
            ),
        )  # fmt: skip

    expected = shape(*before, top)
    found.play(0, 0)
    assert shape(found.tree_batch.nodes[0], found.tree_batch.edges[0], 0) == expected
    found.run(np.array([120], np.int32))  # and it can be searched on
    assert found.root(0)["visits"] == 120


# --- the reference in plain Python ---------------------------------------------------------------------


@settings(max_examples=80)
@given(drawings(), st.integers(1, 60))
def test_fast_and_slow_search_agree(root: Any, sims: int) -> None:
    found = search(root, sims, SearchConstants(c_init=1.25))
    same(found, 0, twin_search(root, sims, 1.25, lambda node: edges(found, node)))
