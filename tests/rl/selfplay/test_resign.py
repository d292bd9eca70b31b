"""Resignation in self-play: who loses, where it is disabled, and how often it would have been wrong."""

import numpy as np

from ckai.datasets.convert import RESIGNED, WOULD_RESIGN
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.run.games import describe
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import play_games
from ckai.rl.selfplay.shards import GameHeader, to_table


class Material(UniformEvaluator):
    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        values[:] = np.tanh(boards[:, :32].sum(axis=1) * 0.3)
        return logits, values


SETTINGS = {"sims": 16, "in_flight": 16, "groups": 2, "tables": 0, "max_plies": 200}


def play(n=40, seed=2, **settings):
    games = []
    config = SelfPlayConfig(**{**SETTINGS, "resign": 0.8, **settings})
    play_games(Material(), config, range(n), seed=seed, on_game=games.append)
    return sorted(games, key=lambda game: game.number)


def first_resignation(game, resign=0.8):
    """The first row at which a side has to resign, by the rule itself; None if there is none."""
    for i, row in enumerate(game.rows):
        if i and row["hop"] == 0 and float(row["q"]) <= -resign:
            return i
    return None


def test_the_side_that_resigns_has_lost_and_the_game_is_over():
    games = play(resign_disabled_prob=0.0)
    assert sum(game.header.resigned for game in games) > 10
    for game in games:
        assert first_resignation(game) is None
        assert game.header.resigner is None
        replayed = game.replay()
        if game.header.resigned:
            # The side to move resigned.
            assert game.result == (-1 if replayed.position.black else 1)
            assert replayed.outcome() is None
            assert f'[Termination "{RESIGNED}"]' in game.pdn()
        else:
            outcome = replayed.outcome()
            assert (outcome.result if outcome else "*") == game.header.result
    to_table(games).validate(full=True)


def test_games_played_out_record_who_would_have_resigned():
    games = play(resign_disabled_prob=1.0)
    assert not any(game.header.resigned for game in games)
    resignable = 0
    for game in games:
        row = first_resignation(game)
        positions = game.replay().history
        if row is None:
            assert game.header.resigner is None
            continue
        resignable += 1
        ply = int(game.rows["ply"][row])
        assert game.header.resigner == ("Black" if positions[ply].black else "White")
        assert f"{game.header.resigner} {WOULD_RESIGN}" in game.pdn()
    assert resignable > 10


def test_the_share_of_games_played_out():
    games = play(200, resign=0.3, sims=4)
    resigned = sum(game.header.resigned for game in games)
    would_have_resigned = sum(game.header.resigner is not None for game in games)
    assert 0.03 < would_have_resigned / (would_have_resigned + resigned) < 0.2


def test_wrong_resignations_are_counted():
    games = play(60, resign=0.25, resign_disabled_prob=1.0, sims=8)
    config = SelfPlayConfig(**{**SETTINGS, "resign": 0.25})
    counts = describe([game.header for game in games], config)
    score = {"Black": -1, "White": 1}
    resignable = [game for game in games if game.header.resigner and game.header.result != "*"]
    wrong = [game for game in resignable if game.result != score[game.header.resigner]]
    assert (counts["resigned"], counts["played_out"]) == (0, len(resignable))
    assert counts["wrongly"] == len(wrong)
    assert wrong


def test_games_without_a_result_are_no_wrong_resignations():
    config = SelfPlayConfig(**{**SETTINGS, "resign": 0.25})
    names = ("ckai generation 1", "ckai generation 1")
    games = [GameHeader(0, *names, result, 9, (), resigner="Black") for result in ("*", "0-1", "1-0", "*")]
    counts = describe(games, config)
    assert (counts["resigned"], counts["played_out"], counts["wrongly"]) == (0, 2, 1)
