"""Searches that evaluate inside the kernels find what a search in batches of one finds."""

import numpy as np
import pytest
import torch

from ckai.game import Position, kernels
from ckai.models.inference.integers import IntegerEvaluator
from ckai.models.network import build
from ckai.rl.games.checkers import pack
from ckai.rl.games.connect4 import Connect4
from ckai.rl.search.searcher import Searcher
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import play_games


def evaluator(encoding="pieces"):
    torch.manual_seed(3)
    return IntegerEvaluator(build("swift", {"hidden": 32, "narrow": 8, "narrowest": 8, "encoding": encoding}))


class InBatches:
    """The same network, which the searcher does not know as one that its kernels can evaluate."""

    name = "in batches"

    def __init__(self, inner):
        self.inner = inner

    def evaluate(self, boards, *outputs):
        return self.inner.evaluate(boards, *outputs)


class Settled(InBatches):
    """Positions with captures have the value of the best line of captures."""

    def evaluate(self, boards, *outputs):
        logits, values = super().evaluate(boards, *outputs)
        values[:] = [self.value(*unpacked(board)) for board in boards]
        return logits, values

    def value(self, own, opp, kings, jumper):
        actions = np.empty(128, np.int16)
        count = kernels.legal_actions(own, opp, kings, jumper, actions)
        if not count:
            return -1.0
        if not kernels.legal_hops(own, opp, kings, jumper)[4]:
            board = np.zeros((1, 34), np.int8)
            kernels.write_board(own, opp, kings, board[0, :32])
            board[0, 32] = jumper
            return float(self.inner.evaluate(board)[1][0])
        after = [kernels.apply_hop(own, opp, kings, 0, int(action)) for action in actions[:count]]
        return max((-1 if passed else 1) * self.value(*state) for *state, _, passed in after)


def unpacked(board):
    bits = [1 << square for square in range(32)]
    own, opp, kings = (
        sum(bit for bit, piece in zip(bits, board, strict=False) if chosen(piece))
        for chosen in (lambda piece: piece > 0, lambda piece: piece < 0, lambda piece: abs(piece) == 3)
    )
    return own, opp, kings, int(board[32])


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
    inline = Searcher(network, nodes=600)
    inline.chunk = chunk
    assert searched(inline, state, 500) == searched(Searcher(Settled(network), nodes=600), state, 500)
    assert inline.root(0)["visits"] == 500


@pytest.mark.slow
def test_other_games_are_searched():
    network = evaluator("connect4")
    inline, batches = (Searcher(each, nodes=400, game=Connect4()) for each in (network, InBatches(network)))
    assert searched(inline, (0, 0), 300) == searched(batches, (0, 0), 300)


def test_selfplay_evaluates_legal_actions_alone_and_plays_the_same():
    def games(network):
        played = []
        config = SelfPlayConfig(sims=12, in_flight=6, tables=0, groups=1)
        play_games(network, config, range(6), seed=1, on_game=played.append)
        return {game.number: repr(game.rows.tolist()) for game in played}

    assert games(evaluator()) == games(Settled(evaluator()))
