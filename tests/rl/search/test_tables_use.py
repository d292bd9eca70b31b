"""Tablebases at work: in the search, in self-play, in matches and in what is played."""

import random
from dataclasses import replace

import numpy as np
import pytest

from ckai.datasets.convert import ADJUDICATED
from ckai.datasets.tables import Tables, build_tables, table_path
from ckai.datasets.tables.probe import SHIPPED
from ckai.game import Game, Position
from ckai.rl import TreeEngine
from ckai.rl.evaluators.rollout import RolloutEvaluator, UniformEvaluator
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import play_games


@pytest.fixture(scope="module")
def tables():
    return Tables.open(SHIPPED)


def placements(rng, number, sizes=((1, 1), (2, 1), (1, 2))):
    """Random positions of few pieces with a legal move."""
    found = []
    while len(found) < number:
        mine, theirs = rng.choice(sizes)
        squares = [1 << square for square in rng.sample(range(32), mine + theirs)]
        own, opp = sum(squares[:mine]), sum(squares[mine:])
        kings = sum(square for square in squares if rng.random() < 0.6)
        # No men on the rows where they would be kings.
        kings |= own & 0xF0000000 | opp & 0xF
        position = Position(own, opp, kings, True, -1, 0)
        if position.legal_moves():
            found.append(position)
    return found


@pytest.mark.slow
def test_the_shipped_tables_are_those_that_are_built(tables, tmp_path, monkeypatch):
    path = table_path(SHIPPED, tmp_path)
    header = build_tables(SHIPPED, path)
    monkeypatch.setenv("CKAI_CACHE", str(tmp_path))
    built = Tables.open(SHIPPED)
    assert header["counts"] == tables.header["counts"]
    assert np.array_equal(built.values, tables.values)
    assert path.stat().st_size < 300_000


@pytest.mark.parametrize("evaluator", [UniformEvaluator, RolloutEvaluator])  # in batches, inside the kernels
def test_the_search_proves_what_the_tables_know(tables, evaluator):
    engine = TreeEngine(evaluator(), tables=tables)
    for position in placements(random.Random(1), 300):
        probed, found = tables.probe(position), engine.search(position, sims=50)
        assert (found.proven, found.plies) == (probed.value, probed.plies)
        assert found.move in tables.best_moves(position)
        assert found.value == {"win": 1.0, "loss": -1.0, "draw": 0.0}[probed.value]
        if probed.plies is not None:
            assert len(found.pv) == min(probed.plies, 40)


def test_a_win_that_the_count_would_take_is_not_taken_for_one(tables):
    engine, position = TreeEngine(UniformEvaluator(), tables=tables), Position.from_fen("B:WK9:BK18,K24")
    for clock, proof in ((57, ("win", 23)), (58, (None, None))):  # the same engine: no tree is taken over
        found = engine.search(replace(position, halfmove_clock=clock), sims=50)
        assert (found.proven, found.plies) == proof


def test_a_won_ending_is_not_left_for_one_that_the_count_draws(tables):
    """Two kings against one, and only moves that win at once or soon are left by the count."""
    rng = random.Random(9)
    engine = TreeEngine(UniformEvaluator(), tables=tables)
    for position in placements(rng, 200, ((2, 1),)):
        position = replace(position, kings=position.own | position.opp)
        if not position.legal_moves() or tables.probe(position).value != "win":
            continue
        plies = tables.probe(position).plies
        position = replace(position, halfmove_clock=80 - plies)
        found = engine.search(position, sims=50)
        assert (found.proven, found.plies) == ("win", plies)
        game = Game(position)
        game.push(found.move)
        assert game.outcome() is None or game.outcome().winner is not None


def test_a_draw_is_not_left_for_a_loss_that_the_count_might_save(tables):
    rng = random.Random(11)
    engine = TreeEngine(UniformEvaluator(), tables=tables)
    for position in placements(rng, 4000, ((1, 2),)):
        position = replace(position, halfmove_clock=74)
        if tables.probe(position).value != "draw":
            continue
        found = engine.search(position, sims=50)
        assert found.proven == "draw"
        assert tables.probe(position.push(found.move)).value == "draw"


def played(n=24, **settings):
    games = []
    config = SelfPlayConfig(sims=16, in_flight=8, groups=1, **settings)
    play_games(UniformEvaluator(), config, range(n), seed=4, on_game=games.append)
    return sorted(games, key=lambda game: game.number)


def few(position):
    return (position.own | position.opp).bit_count() <= SHIPPED


def test_adjudicated_games_end_with_the_truth(tables):
    games = played()
    ended = [game for game in games if game.header.adjudicated]
    assert ended
    for game in games:
        replayed = game.replay()
        last = replayed.position
        assert game.header.adjudicated == (ADJUDICATED in game.pdn())
        assert not any(few(position) for position in replayed.history[1:])
        if game.header.adjudicated:
            value = tables.probe(last).value
            score = {"win": 1, "loss": -1, "draw": 0}[value] * (1 if last.black else -1)
            assert game.result == score
            assert replayed.outcome() is None
        else:
            outcome = replayed.outcome()
            assert (outcome.result if outcome else "*") == game.header.result
