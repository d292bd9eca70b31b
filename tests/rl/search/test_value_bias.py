"""Value bias correction: against plain Python, over moves, in small tables, and in self-play."""

from typing import Any

import numpy as np
import pytest
from slow_search import Twin, puct_scores, simulate
from tree_game import Leaf, draw
from tree_search import edges, same

from ckai.rl.games.contract import NONE
from ckai.rl.search import arrays
from ckai.rl.search.arrays import BUCKET, NODE_BIAS, OPEN, tree_batch_bytes
from ckai.rl.search.searcher import Searcher
from ckai.rl.search.selection import SearchConstants

# An option that is off, for which every kernel of the search is compiled once more: ten seconds.
pytestmark = pytest.mark.slow

FACTOR, EXPONENT, C = 0.35, 0.8, 1.25
PLAIN = SearchConstants(c_init=C)
RULE = SearchConstants(c_init=C, value_bias_factor=FACTOR, value_bias_exponent=EXPONENT)


def bushy(random: Any, depth: int) -> Leaf:
    """A random tree whose branches are long enough to share their last actions."""
    width = int(random.integers(1 if depth > 3 else 0, 3)) if depth else 0
    children = [(bushy(random, depth - 1), bool(random.random() < 0.8)) for _ in range(width)]
    prior = random.uniform(0.1, 1.0, width).tolist() or None
    value, guess = float(random.integers(-1, 2)), int(random.integers(-63, 64)) / 64
    return Leaf(*children, value=value, guess=guess, prior=prior)


def searcher_of(root: Leaf, constants: SearchConstants = RULE, nodes: int = 2000) -> Searcher:
    game, oracle, _ = draw(root)
    searcher = Searcher(oracle, nodes=nodes, constants=constants, game=game)
    searcher.set_root(0, (0, 0))
    return searcher


def run(searcher: Searcher, visits: int) -> None:
    searcher.run(np.array([visits], np.int32))


def buckets(searcher: Searcher) -> dict[int, tuple[float, float]]:
    """The buckets of the table with a weight, by context."""
    table = searcher.tree_batch.bias.buckets[0]
    used = table[(table["context"] > 0) & (table["weight"] > 1e-6)]
    return {int(b["context"]): (float(b["weight"]), float(b["weighted_error"])) for b in used}


def summed_buckets(searcher: Searcher) -> dict[int, tuple[float, float]]:
    """The same, computed again from the nodes of the tree."""
    trees, sums = searcher.tree_batch, dict[int, tuple[float, float]]()
    for node, bias in zip(trees.nodes[0, : trees.info[0]["nodes"]], trees.bias.nodes[0], strict=False):
        searched = node["status"] == OPEN and node["proof"] == NONE and node["visits"] > 1
        if searched and bias["bucket"] >= 0:
            weight = (node["visits"] - 1) ** EXPONENT
            below = (node["value_sum"] - bias["corrected"]) / (node["visits"] - 1)
            error = weight * (bias["network_value"] - below)
            before = sums.get(int(bias["context"]), (0.0, 0.0))
            sums[int(bias["context"])] = (before[0] + weight, before[1] + error)
    return sums


def check_buckets(searcher: Searcher) -> None:
    """Compare the table with the nodes."""
    found, expected = buckets(searcher), summed_buckets(searcher)
    assert found.keys() == expected.keys()
    for context, sums in expected.items():
        assert found[context] == pytest.approx(sums, abs=1e-9)


def test_a_line_by_hand() -> None:
    # Every action is 0, so that from the third node on every other one is alike.
    v2, v3, v4 = 0.5, 0.25, -0.125
    line = Leaf(Leaf(Leaf(Leaf(Leaf(Leaf(Leaf()), guess=v4), guess=v3), guess=v2), guess=0.75))
    searcher = searcher_of(line)
    corrected = lambda: searcher.tree_batch.bias.nodes[0, :5]["corrected"].tolist()  # noqa: E731
    run(searcher, 4)
    n2 = v2 - FACTOR * (v2 + v3)
    assert corrected()[:4] == pytest.approx([0.0, 0.75, n2, v3])
    run(searcher, 5)
    n4 = v4 - FACTOR * (v2 + v3)
    n3 = v3 - FACTOR * (v3 + n4)
    n2 = v2 - FACTOR * (v2 - (-n3 + n4) / 2)
    assert corrected() == pytest.approx([0.0, 0.75, n2, n3, n4])
    assert searcher.root(0)["value_sum"] == pytest.approx(0.0 - 0.75 + n2 - n3 + n4)
    assert edges(searcher)["value_sum"][0] == pytest.approx(-0.75 + n2 - n3 + n4)


@pytest.mark.parametrize("seed", range(20))
def test_the_search_agrees_with_the_slow_twin(seed: int) -> None:
    """The twin follows the paths of the search, which break ties by rounding, and checks that PUCT may."""
    root = bushy(np.random.default_rng(seed), 7)
    searcher = searcher_of(root)
    number = lambda node: edges(searcher, node)  # noqa: E731
    twin = None

    def choose(node: Twin) -> int:
        more = [int(n) - node.edge(i)[0] for i, n in enumerate(node.like["visits"])]
        assert sorted(more) == [0] * (len(more) - 1) + [1]
        scores = puct_scores(node, C)
        assert scores[more.index(1)] == pytest.approx(max(scores), abs=1e-9)
        return more.index(1)

    for visits in range(1, 61):
        run(searcher, visits)
        if int(searcher.root(0)["visits"]) < visits:
            break
        twin = twin or Twin(root, number(0))
        simulate(twin, choose, number, (FACTOR, EXPONENT))
    assert twin is not None
    same(searcher, 0, twin)
    check_buckets(searcher)


@pytest.mark.parametrize("seed", range(6))
def test_the_kept_subtree_keeps_its_part_of_the_buckets(seed: int) -> None:
    searcher = searcher_of(bushy(np.random.default_rng(seed), 12))

    def contexts() -> dict[int, int]:
        trees = searcher.tree_batch
        used = int(trees.info[0]["nodes"])
        open_nodes = trees.nodes[0, :used]["status"] == OPEN
        states = trees.nodes[0, :used]["state"][open_nodes, 0].tolist()
        return dict(zip(states, trees.bias.nodes[0, :used]["context"][open_nodes].tolist(), strict=True))

    for visits in (80, 120, 160):
        run(searcher, visits)
        check_buckets(searcher)
        if searcher.root(0)["proof"] != NONE:
            break
        before = contexts()
        searcher.play(0, searcher.best(0))
        assert contexts().items() <= before.items()
        check_buckets(searcher)


def test_buckets_are_shared_and_values_move() -> None:
    searcher, plain = (searcher_of(bushy(np.random.default_rng(3), 12), rule) for rule in (RULE, PLAIN))
    for each in (searcher, plain):
        run(each, 200)
    biases = searcher.tree_batch.bias.nodes[0, : searcher.tree_batch.info[0]["nodes"]]
    assert np.bincount(biases["bucket"][biases["bucket"] >= 0]).max() > 3
    assert np.abs(biases["corrected"] - biases["network_value"]).max() > 0.1
    assert searcher.root(0)["value_sum"] != plain.root(0)["value_sum"]


def test_a_new_root_begins_without_buckets() -> None:
    random = np.random.default_rng(5)
    root = bushy(random, 9)
    used, fresh = searcher_of(root), searcher_of(root)
    run(used, 50)
    used.set_root(0, (0, 0))
    for searcher in (used, fresh):
        run(searcher, 70)
    assert buckets(used) == buckets(fresh)
    assert used.root(0)["value_sum"] == fresh.root(0)["value_sum"]


def test_a_node_for_which_there_is_no_room_has_no_bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MAX_BUCKETS", 2)
    searcher = searcher_of(bushy(np.random.default_rng(1), 12))
    run(searcher, 100)
    assert searcher.tree_batch.bias.buckets.shape == (1, 2)
    check_buckets(searcher)
    nodes, biases = searcher.tree_batch.nodes[0], searcher.tree_batch.bias.nodes[0]
    without = (biases["bucket"] < 0) & (biases["context"] >> 16 & 3 == 2)
    without &= (nodes["status"] == OPEN) & (nodes["proof"] == NONE)
    assert without.any()
    assert (biases["corrected"] == biases["network_value"])[without].all()


def test_a_tree_that_grows_is_that_of_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "RESERVE", 10)
    monkeypatch.setattr(arrays, "MAX_BUCKETS", 64)
    root = bushy(np.random.default_rng(8), 12)
    large, growing = searcher_of(root), searcher_of(root, nodes=40)
    for visits in range(10, 200, 5):
        growing.make_room(2000)
        for searcher in (large, growing):
            run(searcher, visits)
    assert growing.tree_batch.nodes.shape[1] > 40
    used = int(large.tree_batch.info[0]["nodes"])
    for part in (lambda trees: trees.nodes, lambda trees: trees.bias.nodes):
        ours, theirs = (part(each.tree_batch)[0, :used] for each in (large, growing))
        assert ours.tobytes() == theirs.tobytes()


def test_without_it_trees_have_no_memory_for_it() -> None:
    searcher = searcher_of(Leaf(Leaf()), PLAIN)
    assert searcher.tree_batch.bias is None
    game = searcher.game
    extra = tree_batch_bytes(game, 2, 100, 1, value_bias=True) - tree_batch_bytes(game, 2, 100, 1)
    assert extra == 2 * (100 * NODE_BIAS.itemsize + 256 * BUCKET.itemsize)
