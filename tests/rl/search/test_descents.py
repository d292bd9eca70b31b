"""The descents of a batch: what they select, and that they leave nothing in flight behind."""

from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_search import exploration
from tree_game import draw, endless
from tree_search import CONSTANTS, drawings, edges, proof_of

from ckai.rl.games.contract import NONE
from ckai.rl.search.arrays import PENDING
from ckai.rl.search.searcher import BatchSizer, Searcher

Path = tuple[int, ...]


def select_one_by_one(searcher: Searcher, leaves: int) -> tuple[list[Path], dict[int, int]]:
    """The next leaves in plain Python, as paths of edges, and the edges in flight by then."""
    nodes, all_edges = searcher.tree_batch.nodes[0], searcher.tree_batch.edges[0]
    flying: dict[int, int] = {}  # descents below an edge
    new: list[Path] = []
    collisions: list[Path] = []
    while len(new) < leaves:
        path: Path = ()
        node = 0
        while node >= 0 and path not in new:
            here = nodes[node]
            count = range(int(here["first_edge"]), int(here["first_edge"]) + int(here["num_edges"]))
            visits = int(here["visits"]) + sum(flying.get(e, 0) for e in count)
            scale = exploration(visits, CONSTANTS.c_init)
            unvisited = here["value_sum"] / here["visits"]
            scores = []
            for e in count:
                n = int(all_edges["visits"][e])
                q = all_edges["value_sum"][e] / n if n else unvisited
                scores.append(q + scale * float(all_edges["prior"][e]) / (1 + n + flying.get(e, 0)))
            path = (*path, count[int(np.argmax(scores))])
            node = int(all_edges["child"][path[-1]])
        if path not in new:
            new.append(path)
        elif len(collisions) < leaves:
            collisions.append(path)
        else:
            raise AssertionError("expected a larger tree: too many descents end at the same leaves")
        for e in path:
            flying[e] = flying.get(e, 0) + 1
    for e in (e for path in collisions for e in path):
        flying[e] -= 1
    return new, flying


def path_to(searcher: Searcher, node: int) -> Path:
    nodes = searcher.tree_batch.nodes[0]
    path: Path = ()
    while nodes["parent"][node] >= 0:
        path = (int(nodes["parent_edge"][node]), *path)
        node = int(nodes["parent"][node])
    return path


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("leaves", [1, 5, 16])
def test_the_leaves_of_a_batch_are_those_of_the_slow_twin(seed: int, leaves: int) -> None:
    game, oracle = endless(np.random.default_rng(seed))
    game = game._replace(knows_path=True)  # the descents of the twin end at new nodes alone
    searcher = Searcher(oracle, nodes=4000, leaves=leaves, visits_per_leaf=3, constants=CONSTANTS, game=game)
    searcher.set_root(0, (0, 0))
    searcher.run(np.array([2000 + 100 * seed], np.int32))
    searcher.visits_per_leaf = 0
    for _ in range(3):
        searcher.flush()
        paths, flying = select_one_by_one(searcher, leaves)
        slots = searcher.step(np.array([10_000], np.int32))
        found = [path_to(searcher, int(node)) for node in searcher.tree_batch.slots["node"][:slots]]
        assert sorted(found) == sorted(paths)
        in_flight = searcher.tree_batch.edges[0]["in_flight"]
        assert {int(e): int(in_flight[e]) for e in np.flatnonzero(in_flight)} == flying


@settings(max_examples=60)
@given(
    drawings(),
    st.integers(1, 16),
    st.integers(1, 3),
    st.sampled_from([10, 50, 2000]),
    st.sampled_from([None, BatchSizer(100.0)]),
)
def test_batches_in_flight(root: Any, leaves: int, batches: int, nodes: int, sizer: Any) -> None:
    if not root.children:
        return
    game, oracle, _ = draw(root)
    found = Searcher(oracle, nodes=nodes, leaves=leaves, batches=batches, game=game)
    found.set_root(0, (0, 0))
    found.batch_sizer = sizer
    with closing(found):
        while found.step(np.array([100], np.int32)):
            assert found.root(0)["visits"] + found.root(0)["in_flight"] <= 100
            new = sum(
                batch.tree_batch.slots["node"][: batch.slots].min() == 0
                for batch in found._batches
                if batch.slots
            )
            assert found.root(0)["in_flight"] == found.in_flight - new
        assert found.root(0)["proof"] in (proof_of(root), NONE)
        used = found.tree_batch.nodes[0, : found.tree_batch.info["nodes"][0]]
        assert not used["in_flight"].any()
        assert not ((used["status"] == PENDING) & (used["proof"] == NONE)).any()
        if found.root(0)["proof"] == NONE and len(used) < nodes:
            assert found.root(0)["visits"] == 100
        assert found.root(0)["visits"] == 1 + edges(found)["visits"].sum()
