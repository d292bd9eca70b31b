"""What alpha-beta leaves out, on trees drawn by hand; its table; its order of moves."""

import numpy as np
import pytest
from tree_game import WIDTH, Leaf, draw

from ckai.models.inference.integers import IntegerEvaluator, IntegerWeights, arranged
from ckai.models.inference.vectors import SCALE
from ckai.rl.alphabeta.kernel import Constants
from ckai.rl.alphabeta.search import AlphaBetaSearch

FULL_WIDTH = Constants(full_depth_moves=1000, static_depth=0, internal_depth=1000)
"""Search everything: the score equals minimax with the same evaluation."""
pytestmark = pytest.mark.slow  # compiles the search once more, for these trees


class Guesses(IntegerEvaluator):
    """An integer network that gives every node of a tree its `guess` and its `prior`."""

    position_bytes, num_actions = 2, WIDTH

    def __init__(self, nodes):
        units = 2 + WIDTH  # the guess above 0, below 0, and a logit for every action
        first = np.zeros((len(nodes), units), np.int16)
        for row, node in zip(first, nodes, strict=True):
            guess = round(SCALE * float(np.arctanh(node.guess)))
            row[0], row[1] = max(guess, 0), max(-guess, 0)
            if node.prior is not None:
                row[2 : 2 + len(node.prior)] = np.round(SCALE * np.array(node.prior))
        pass_on = np.zeros((1, 2, units), np.int16)
        pass_on[0, 0, 0] = pass_on[0, 1, 1] = SCALE
        policy = np.zeros((WIDTH, units), np.int16)
        policy[range(WIDTH), range(2, 2 + WIDTH)] = 8 * SCALE
        rounded = {
            "first": first,
            "first_bias": np.zeros(units, np.int16),
            "second": pass_on,
            "second_bias": np.zeros((1, 2), np.int32),
            "third": SCALE * np.eye(2, dtype=np.int16)[None],
            "third_bias": np.zeros((1, 2), np.int32),
            "value": np.array([[[SCALE, -SCALE]]], np.int16),
            "value_bias": np.zeros((1, 1), np.int32),
            "policy": policy,
            "policy_narrow": np.zeros((1, WIDTH, 2), np.int16),
            "policy_bias": np.zeros((1, WIDTH), np.int32),
        }
        self.weights = IntegerWeights(
            planes=np.full(7, -1),
            jumper_plane=np.zeros(1, np.int64),
            pairs=np.zeros((0, 3), np.int64),
            touched=np.zeros(64, np.int64),
            combinations=np.full((7, 7), -1),
            bucket_pieces=np.ones(1, np.int64),
            **arranged(rounded),
        )


def search(root, depth, constants, limit=None):
    game, _, nodes = draw(root)
    searcher = AlphaBetaSearch(Guesses(nodes), game=game, entries=1 << 10, constants=constants)
    return searcher.search((0, 0), depth=depth, nodes=limit)


def bad_after(guess, real):
    """A node that looks like `guess` to the side to move; every move there leads to `real` for it."""
    return Leaf(Leaf(Leaf(), guess=-real), Leaf(Leaf(), guess=-real), guess=guess)


def two_choices(guess):
    """Action 0 is worth 0.1; action 1 is 0.6, but its position looks like `guess` to the other side."""
    return Leaf(bad_after(-0.1, -0.1), bad_after(guess, -0.6), prior=[0.9, 0.1])


def value_of(root, constants, depth=2):
    return search(root, depth, constants).value


def test_a_tree_has_the_value_of_minimax():
    result = search(two_choices(0.5), 2, FULL_WIDTH)
    assert (result.action, result.value) == (1, pytest.approx(0.6, abs=2e-3))


def test_of_a_depth_that_was_cut_short_the_actions_searched_count():
    """One ply deep action 0 is the best, two plies deep action 1; the limit ends action 2."""

    def root():
        return Leaf(bad_after(-0.3, -0.1), bad_after(-0.2, -0.6), bad_after(0.0, 0.0), prior=[0.6, 0.3, 0.1])

    shallow, deep = search(root(), 1, FULL_WIDTH), search(root(), 2, FULL_WIDTH)
    assert (shallow.action, deep.action) == (0, 1)
    cut = search(root(), 2, FULL_WIDTH, limit=deep.nodes)
    assert (cut.action, cut.depth, cut.value) == (1, 1, deep.value)
    cut = search(
        root(), 2, FULL_WIDTH, limit=deep.nodes - 3
    )  # action 1 is known to be better, not by how much
    assert (cut.action, cut.depth) == (1, 1)
    cut = search(root(), 2, FULL_WIDTH, limit=shallow.nodes + 1)
    assert (cut.action, cut.depth, cut.value) == (0, 1, shallow.value)


def test_a_position_far_above_the_window_is_pruned_within_the_margin():
    """After action 1 the other side seems to stand at +0.5, so action 1 is not worth a search."""
    small = FULL_WIDTH._replace(static_depth=1, static_margin=3000)
    assert value_of(two_choices(0.5), small) == pytest.approx(0.1, abs=2e-3)
    assert value_of(two_choices(0.1), small) == pytest.approx(0.6, abs=2e-3)  # 0.1 + 0.1 is within 0.3
    large = small._replace(static_margin=9000)
    assert value_of(two_choices(0.5), large) == pytest.approx(0.6, abs=2e-3)


def test_a_position_far_below_the_window_is_pruned_within_the_margin():
    """After action 1 and any reply the root's side seems lost, though it has a way to +0.6."""

    def root():
        sound = Leaf(bad_after(0.1, 0.1), bad_after(0.1, 0.1), guess=-0.1)
        trap = Leaf(bad_after(-0.7, 0.6), bad_after(-0.7, 0.6), guess=-0.05)
        return Leaf(sound, trap, prior=[0.9, 0.1])

    assert value_of(root(), FULL_WIDTH, depth=3) == pytest.approx(0.6, abs=2e-3)
    small = FULL_WIDTH._replace(static_depth=1, static_margin=20_000, razor_margin=3000)
    assert value_of(root(), small, depth=3) == pytest.approx(0.1, abs=2e-3)
    large = small._replace(razor_margin=9500)
    assert value_of(root(), large, depth=3) == pytest.approx(0.6, abs=2e-3)
    # So does the score of a shallower search: two plies deep the trap is at -0.7.
    by_table = FULL_WIDTH._replace(static_depth=2, static_margin=1500, razor_margin=20_000)
    assert value_of(root(), by_table, depth=3) == pytest.approx(0.1, abs=2e-3)


def lines(values, length, seen):
    """Action i leads through `length` plies, with one losing choice each, to `values[i]` for the root's side.

    `seen`: the positions on the way look like what they are, else like 0.
    """

    def line(plies, value):
        if plies == 0:
            return Leaf(Leaf(), guess=value)
        return Leaf(line(plies - 1, -value), Leaf(value=1.0), guess=value if seen else 0.0)

    return Leaf(*(line(length, -value) for value in values), prior=[0.9, 0.5, 0.3, 0.1])


def test_late_actions_are_searched_less():
    """Action 3 wins only after five plies; an action that looks better is searched to the full depth."""
    reduced = FULL_WIDTH._replace(full_depth_moves=1)
    hidden, seen = (lines([0.1, 0.0, 0.0, 0.5], 4, seen) for seen in (False, True))
    assert search(hidden, 5, FULL_WIDTH).action == 3
    assert search(hidden, 5, reduced).action == 0
    full, less = search(seen, 5, FULL_WIDTH), search(seen, 5, reduced)
    assert (full.action, full.value) == (less.action, less.value)
    assert full.action == 3
    assert less.nodes < full.nodes


def test_the_only_reply_is_never_pruned():
    lost = Leaf(value=-1.0)
    root = Leaf(bad_after(0.0, 0.0), Leaf(Leaf(lost, guess=0.7), guess=0.7), prior=[0.9, 0.1])
    for constants in (FULL_WIDTH, Constants(), FULL_WIDTH._replace(static_depth=3, static_margin=0)):
        result = search(root, 4, constants)
        assert (result.action, result.value, result.plies) == (1, 1.0, 3)
