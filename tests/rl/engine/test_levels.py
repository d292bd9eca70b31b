"""Levels of play."""

import math

import pytest

from ckai.game import Game, Position
from ckai.models.checkpoint import load_network
from ckai.models.inference.integers import IntegerEvaluator
from ckai.rl.alphabeta.search import AlphaBetaSearch
from ckai.rl.engine.alphabeta import (
    FULL_LEVEL,
    LEVELS,
    QUICK_NODES,
    Level,
    LevelEngine,
    RandomEngine,
    level_policy,
    move_values,
)
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.matches.match import play_match
from ckai.rl.matches.openings import draw_openings

PRIORS = {"a": 0.5, "b": 0.25, "c": 0.25}


@pytest.fixture(scope="module")
def networks():
    return [IntegerEvaluator(load_network(name)) for name in ("human", "ckai")]


def test_a_high_temperature_is_nearly_random_and_a_low_one_plays_the_likeliest_move():
    assert level_policy(Level(1000.0), PRIORS, None)["a"] == pytest.approx(1 / 3, abs=1e-3)
    assert level_policy(Level(0.05), PRIORS, None)["a"] == pytest.approx(1, abs=1e-3)
    # p ** (1 / 2) of 1/2 and 1/4: sqrt(2) to 1.
    warm = level_policy(Level(2.0), PRIORS, None)
    assert warm["a"] / warm["b"] == pytest.approx(math.sqrt(2))


def test_a_value_of_the_regret_below_another_is_e_times_rarer():
    policy = level_policy(Level(1.0, 3, 0.2), PRIORS, {"a": 0.1, "b": 0.1, "c": -0.1})
    assert policy["b"] / policy["c"] == pytest.approx(math.e)
    assert policy["a"] / policy["b"] == pytest.approx(2)
    assert sum(policy.values()) == pytest.approx(1)


def test_values_of_moves(networks):
    """The values are the mover's: 11-15 gives its last man away."""
    search = AlphaBetaSearch(networks[1], entries=1 << 12)
    game = Game(Position.from_fen("B:W19,18:B11"))
    values = {str(move): value for move, value in move_values(search, game, 2).items()}
    assert set(values) == {"11-15", "11-16"}
    assert values["11-15"] == -1
    # A move that takes the last piece wins.
    game = Game(Position.from_fen("B:W18:B14"))
    assert {str(move): value for move, value in move_values(search, game, 1).items()} == {"14x23": 1.0}


def test_a_move_that_repeats_a_position_is_worth_a_draw(networks):
    search = AlphaBetaSearch(networks[1], entries=1 << 12)
    game = Game(Position.from_fen("W:WK18,K15,K10:BK4"))
    for text in ("18-22", "4-8", "22-18"):
        game.push(text)
    values = {str(move): value for move, value in move_values(search, game, 2).items()}
    assert values["8-4"] == 0.0


def test_a_move_that_lets_the_80_plies_run_out_is_worth_a_draw(networks):
    search = AlphaBetaSearch(networks[1], entries=1 << 12)
    game = Game(Position.from_fen("B:W32:BK19,K14,K10,3:H79"))
    values = {str(move): value for move, value in move_values(search, game, 5).items()}
    assert {move for move, value in values.items() if value == 0} == set(values) - {"3-7", "3-8"}
    assert len(values) == 12


def test_each_level_plays_by_its_seed(networks):
    openings = draw_openings(1, 0)
    for level in (LEVELS[0], LEVELS[4]):
        one, two = (
            play_match(LevelEngine(level, *networks), RandomEngine(), openings, max_plies=60)
            for _ in range(2)
        )
        assert [game.game.moves for game in one.games] == [game.game.moves for game in two.games]


def test_texts():
    assert isinstance(Engine.load("level:2"), LevelEngine)
    quick = Engine.load(f"level:{FULL_LEVEL - 1}")
    assert (quick.limit, quick.by_time) == (Limit(nodes=QUICK_NODES[-1]), False)
    assert Engine.load(f"level:{FULL_LEVEL}@0.2s").limit == Limit(seconds=0.2)
    for text in (f"level:{FULL_LEVEL}", "alphabeta:ckai@0.2s"):
        engine = Engine.load(text, threads=3)
        assert (engine.by_time, len(engine._alpha_beta.workers)) == (True, 3)


@pytest.mark.parametrize("text", ["level:0", "level:99", "level:²"])
def test_an_unknown_level(text):
    with pytest.raises(ValueError, match=f"expected a level from 1 to {FULL_LEVEL}"):
        Engine.load(text)
