"""The engine: whole moves, values, repetitions, reuse of the tree, and the network alone."""

from dataclasses import replace

import numpy as np
import pytest

from ckai.game import Game, Position
from ckai.rl import Engine, TreeEngine
from ckai.rl.evaluators.rollout import UniformEvaluator

START = Position.start()


class Material(UniformEvaluator):
    """Values the pieces on the board, a king as 3 men: far from 0 where one side has more."""

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        values[:] = np.tanh(boards[:, :32].sum(axis=1) / 4)
        return logits, values


@pytest.fixture
def engine():
    return Engine.load("uniform")


def test_history_as_fen_tells_the_quiet_count(engine):
    game = Game(Position.from_fen("B:WK32:BK1"))
    for move in ("1-5", "32-28", "5-1"):
        game.push(move)
    fens = [p.fen for p in game.history]
    engine.search(game.position.fen, sims=20, history=fens)
    assert engine._tree.line[-1].halfmove_clock == 3


def test_the_quiet_rule_is_seen_at_its_boundary():
    for quiet, drawn in ((79, True), (60, False)):
        found = Engine.load("uniform").search(Position.from_fen(f"B:WK32:BK1:H{quiet}"), sims=30)
        assert (found.proven == "draw") == drawn


def test_the_kept_tree_answers_like_a_new_one():
    """Black is two men up; White tries to lose no more."""
    game = Game(Position.from_fen("B:W21-30:B1-12"))
    kept, fresh = TreeEngine(Material()), TreeEngine(Material())
    for _ in range(6):
        found = kept.search(game.position, sims=300, history=game.history)
        game.push(found.move)
        game.push(found.pv[1])
    reused = kept.search(game.position, sims=1, history=game.history)
    assert reused.sims > 1
    again = kept.search(game.position, sims=4000, history=game.history)
    alone = fresh.search(game.position, sims=4000, history=game.history)
    assert alone.value > 0.3
    assert again.value == pytest.approx(alone.value, abs=0.05)
    assert again.move == alone.move
    assert again.sims == alone.sims == 4000
    assert again.nodes < alone.nodes


def test_after_a_draw_by_the_clock_the_search_goes_on_as_if_it_began_again(engine):
    won = Position.from_fen("W:WK18,K15:BK4")
    for clock in (0, 80, 85):
        found = engine.search(replace(won, halfmove_clock=clock), sims=400)
        assert (str(found.move), found.proven, found.plies) == ("15-11", "win", 3)
        engine.new_game()


def test_policy_multiplies_the_hops_of_a_move():
    class Leaning(UniformEvaluator):
        def evaluate(self, boards, out_logits=None, out_values=None):
            logits, values = super().evaluate(boards, out_logits, out_values)
            logits[:, 1 * 4 + 1] = np.log(3.0)  # from square 2 downwards right
            return logits, values

    policy = TreeEngine(Leaning()).policy("B:W6,7,14,15:B2")
    assert [str(move) for move in policy.priors] == ["2x11x18", "2x9x18"]
    assert list(policy.priors.values()) == pytest.approx([0.75, 0.25])
    assert policy.value.black() == policy.value == 0
