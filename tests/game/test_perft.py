"""Node counts known for positions that hide classic bugs; data in data/perft.txt."""

from pathlib import Path

import pytest

from ckai.game import Position, perft

FAST_NODES, TWIN_NODES = 20_000_000, 8000


def rows():
    for line in Path(__file__).with_name("data").joinpath("perft.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            fen, counts = line.split(" = ")
            yield fen, [int(count) for count in counts.split()]


def cases(least, most):
    return [
        pytest.param(fen, depth, nodes, id=f"{fen}-{depth}")
        for fen, counts in rows()
        for depth, nodes in enumerate(counts, 1)
        if least <= nodes <= most
    ]


@pytest.mark.parametrize(("fen", "depth", "nodes"), cases(0, FAST_NODES))
def test_nodes(fen, depth, nodes):
    assert perft(Position.from_fen(fen), depth) == nodes


@pytest.mark.slow
@pytest.mark.parametrize(("fen", "depth", "nodes"), cases(FAST_NODES + 1, 10**12))
def test_deep_nodes(fen, depth, nodes):
    assert perft(Position.from_fen(fen), depth) == nodes


def test_from_the_middle_of_a_capture():
    # Of the two ways round from 2 only one is left once the first jump is made.
    position = Position.from_fen("B:W6,7,14,15:BK2")
    assert perft(position.push_action(position.legal_actions()[0]), 1) == 1


def test_depths_that_cannot_be():
    with pytest.raises(ValueError, match="expected depth >= 0, found -1"):
        perft(Position.start(), -1)
