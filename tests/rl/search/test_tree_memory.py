"""Memory of the trees: alignment, huge pages, walks of many trees in step."""

import numpy as np
import pytest

from ckai.rl.games.checkers.rules import Checkers
from ckai.rl.search.arrays import EDGE, allocate_trees, node_dtype
from ckai.rl.search.memory import CACHE_LINE, HUGE_PAGE, zeros


@pytest.mark.parametrize("shape", [(3,), (5, 7), (2 * HUGE_PAGE // EDGE.itemsize,)])
def test_arrays_of_zeros_begin_at_a_cache_line(shape: tuple[int, ...]) -> None:
    array = zeros(shape, EDGE)
    assert array.shape == shape
    assert array.dtype == EDGE
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.ctypes.data % CACHE_LINE == 0
    assert not array.view(np.uint8).any()
    array["visits"] = 7
    assert (array["visits"] == 7).all()


@pytest.mark.parametrize("words", range(1, 9))
def test_nodes_fill_cache_lines(words: int) -> None:
    dtype = node_dtype(words)
    assert dtype.itemsize % CACHE_LINE == 0
    assert dtype.itemsize == (64 if words <= 3 else 128)


def test_nodes_of_all_trees_begin_at_a_cache_line() -> None:
    trees = allocate_trees(Checkers(), 3, 11, 1)
    assert trees.nodes.ctypes.data % CACHE_LINE == 0
    assert all(step % CACHE_LINE == 0 for step in trees.nodes.strides)
