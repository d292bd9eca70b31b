"""Thinkers: players and engines that move in games of people and programs."""

import numpy as np

from ckai.game import Game, Position
from ckai.rl.engine.engine import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.players.search import SearchPlayer
from ckai.rl.thinkers.side import SideThinker
from ckai.rl.thinkers.thinker import Interrupt
from ckai.rl.thinkers.tree import TreeThinker


class LastFirst(UniformEvaluator):
    """A policy that prefers the actions with the highest numbers."""

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        logits[:] = np.arange(logits.shape[1])
        return logits, values


def think(thinker, game, limit=None):
    return thinker.think(game, limit or Limit(visits=10), lambda report: None, Interrupt())


def test_a_policy_plays_on_where_a_position_has_been_repeated():
    """Programs may let a game go on that is drawn by rule."""
    position = Position.from_fen("W:WK18,K10,25:BK1,K32,K4")
    repeated = Game(position)
    for text in 2 * ["18-15", "1-5", "15-18", "5-1"]:
        repeated.push(text)
    assert repeated.outcome() is not None
    thinker = SideThinker(SearchPlayer(LastFirst(), 0))
    (move,) = think(thinker, Game(position)).pv
    assert think(thinker, repeated).pv == [move]
    assert move != repeated.position.legal_moves()[0]
    thinker.close()


def test_a_thinker_knows_how_large_its_tree_may_be():
    """The tree of a long game has the positions of its last searches only."""
    thinker, game = TreeThinker(Engine(UniformEvaluator())), Game()
    for _ in range(4):
        game.push(think(thinker, game, Limit(visits=200)).pv[0])
        assert thinker._kept <= 200 + 16
    thinker.close()
