"""Memory of the trees: alignment."""

import pytest

from ckai.rl.games.checkers.rules import Checkers
from ckai.rl.search.arrays import CACHE_LINE, allocate_trees, node_dtype


@pytest.mark.parametrize("words", range(1, 9))
def test_nodes_fill_cache_lines(words: int) -> None:
    dtype = node_dtype(words)
    assert dtype.itemsize % CACHE_LINE == 0
    assert dtype.itemsize == (64 if words <= 3 else 128)


def test_nodes_of_all_trees_begin_at_a_cache_line() -> None:
    trees = allocate_trees(Checkers(), 3, 11, 1)
    assert trees.nodes.ctypes.data % CACHE_LINE == 0
    assert all(step % CACHE_LINE == 0 for step in trees.nodes.strides)
