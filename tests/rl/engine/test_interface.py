"""The interface of every engine, as a reader of python-chess would type it, and what it answers to misuse."""

import sys
import threading
import time
from pathlib import Path

import pytest

from ckai.game import Game, Position
from ckai.rl import Engine, Limit
from ckai.rl.engine.base import Stop, StopReason
from ckai.rl.games.registry import get_game

PROGRAM = f"hub:{sys.executable} {Path(__file__).parents[2] / 'support' / 'hub_program.py'}"


def test_the_first_ten_lines():
    engine = Engine.load("ckai")
    game = Game()
    result = engine.play(game, Limit(seconds=0.1))
    game.push(result.move)
    with engine.analysis(game, lines=3) as analysis:
        for info in analysis:
            if info.sims > 200:
                break
    assert [line.value.turn for line in info.lines] == ["white"] * 3
    assert engine.play(game, Limit(visits=50)).sims >= info.sims  # what the analysis found is kept
    threading.Timer(0.1, engine.stop).start()
    assert engine.play(game, Limit(seconds=60)).reason == StopReason.STOPPED
    moves = [found.move for found in engine.play_many([Game(), Game(), game], Limit(visits=20))]
    assert moves[0] == moves[1] in Game().legal_moves()
    engine.close()


KINDS = {
    "checkers": [
        *("ckai@20", "ckai@policy", "uniform@20ms", "rollout@20", "alphabeta:ckai@3", "alphabeta:ckai@5ms"),
        *("alphabeta@2", "level:1", "level:5", "level:14", "level:16@5ms", "random", f"{PROGRAM}@1"),
    ],
    "connect4": ["uniform@20", "rollout@5ms", "random"],
    "tictactoe": ["uniform@20", "rollout@20", "perfect", "random"],
    "go": ["rollout@8", "random"],
}


@pytest.mark.parametrize(
    ("game", "text"),
    [
        # The kernels of these games take half a minute to compile.
        pytest.param(game, text, marks=[] if game == "checkers" or text == "perfect" else [pytest.mark.slow])
        for game, texts in KINDS.items()
        for text in texts
    ],
)
def test_every_kind_plays_every_game_that_it_knows(game, text):
    spec = get_game(game)
    with Engine.load(text, game=spec, seed=1) as engine, engine.twin() as twin:
        assert (engine.name, twin.name, twin.limit, twin.spec.name) == (text, text, engine.limit, game)
        played = spec.game()
        for mover in (engine, twin, engine, twin):
            result = mover.play(played)
            assert result.move in played.position.legal_moves()
            assert result.lines[0].pv == result.pv
            played.push(result.move)
        for found in engine.play_many([played, spec.game(played.position)], seeds=[1, 1]):
            assert found.move in played.position.legal_moves()
        stop = Stop()
        stop.set()  # before it has begun
        assert engine.play(played, stop=stop).move in played.position.legal_moves()
        with engine.analysis(played, lines=2) as analysis:
            pass
        assert analysis.wait().move in played.position.legal_moves()
        engine.new_game()


@pytest.mark.parametrize(
    "game",
    ["checkers", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tictactoe", "connect4", "go"))],
)
def test_a_position_of_any_game_is_searched_judged_and_followed(game):
    spec = get_game(game)
    with Engine.load("uniform", game=spec) as engine:
        first = spec.position()
        found = engine.search(first, sims=200)
        likely = engine.policy(first)
        assert set(likely.priors) == set(first.legal_moves())
        assert sum(likely.priors.values()) == pytest.approx(1)
        after = first.push(found.move)
        assert engine.search(after, sims=1).sims > 1  # of the tree that is kept
        assert engine.search(after, sims=1, history=[first]).sims == 1


@pytest.mark.parametrize(
    ("text", "limit", "takes"),
    [
        ("alphabeta@2", Limit(visits=9), "depth"),
        ("alphabeta:ckai", Limit(visits=9), "clock, depth, nodes, seconds"),
        ("level:3", Limit(seconds=1), "none, as it has its own"),
        ("level:14", Limit(depth=30), "none, as it has its own"),
        ("ckai@policy", Limit(visits=9), "none, as it has its own"),
        ("random", Limit(clock=9), "none, as it has its own"),
        (PROGRAM, Limit(visits=9), "clock, depth, nodes, seconds"),
    ],
)
def test_a_limit_that_cannot_be_honoured_is_an_error_that_says_so(text, limit, takes):
    with Engine.load(text) as engine:
        for begin in (
            engine.play, engine.analysis, lambda game, limit: engine.play_many([game], limit),
            lambda game, limit: setattr(engine, "limit", limit),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=f"expected a limit of {takes}, found Limit"):
                begin(Game(), limit)
        assert engine.play(Game()).move in Game().legal_moves()


@pytest.mark.parametrize(
    "text",
    [
        "alphabeta:ckai",
        "ckai",
        pytest.param("uniform", marks=pytest.mark.slow),
        pytest.param(f"{PROGRAM.partition('@')[0]} patient", marks=pytest.mark.slow),
    ],
)
def test_an_engine_that_is_busy_says_so_and_survives_a_storm_of_stops(text):
    with Engine.load(text) as engine:
        with engine.analysis(Game()) as analysis:
            time.sleep(0.05)
            for call in (
                lambda: engine.play(Game()), lambda: engine.analysis(Game()), engine.new_game,
                lambda: engine.play_many([Game()]),
            ):  # fmt: skip
                with pytest.raises(RuntimeError, match="searching; stop that search first, or use another"):
                    call()
        over = threading.Event()

        def storm():
            while not over.is_set():
                engine.stop()
                analysis.stop()

        threads = [threading.Thread(target=storm) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for limit in (Limit(), Limit(seconds=30)) * 10:
                assert engine.play(Game(), limit).move in Game().legal_moves()
        finally:
            over.set()
            for thread in threads:
                thread.join()


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("ckai", Limit(visits=1_000_000)),
        pytest.param("ckai", Limit(seconds=60), marks=pytest.mark.slow),
        ("alphabeta:ckai", Limit(depth=99)),
        (f"{PROGRAM.partition('@')[0]} patient", Limit(depth=9)),
    ],
)
def test_many_games_are_stopped_and_closed_from_another_thread(text, limit):
    """Together and one after the other."""
    engine = Engine.load(text)
    games = [Game() for _ in range(20)]
    assert games[0].legal_moves()  # loads the rules before the clock runs
    for end in (engine.stop, engine.close):
        threading.Timer(0.2, end).start()
        begun = time.monotonic()
        found = engine.play_many(games, limit)
        assert time.monotonic() - begun < 30
        assert {result.reason for result in found} == {StopReason.STOPPED}
        assert all(result.move in Position.start().legal_moves() for result in found)
