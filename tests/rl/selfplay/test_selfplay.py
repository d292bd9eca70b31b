"""Self-play and matches: legal games, rows that describe them, the same games from the same seed."""

import functools
from io import BytesIO

import numpy as np
import pytest

from ckai.datasets import reader
from ckai.datasets.schema import SELFPLAY_SCHEMA
from ckai.game import Position
from ckai.pdn import read_games
from ckai.rl.evaluators.rollout import UniformEvaluator
from ckai.rl.games.registry import get_game
from ckai.rl.run.games import describe
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.play import play_games
from ckai.rl.selfplay.shards import Shard, games_as_pdn, to_table


class Hashed(UniformEvaluator):
    """Evaluations that depend on the position alone, as those of a network do."""

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        mix = boards.astype(np.int64) @ np.arange(1, 35) ** 3
        logits[:] = np.sin(mix[:, None] * np.arange(1, 129))
        values[:] = np.sin(mix) * 0.5
        return logits, values


class Material(UniformEvaluator):
    """The balance of men (1) and kings (3)."""

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        values[:] = np.tanh(boards[:, :32].sum(axis=1) * 0.3)
        return logits, values


def play(n=12, seed=3, **settings):
    games = []
    config = SelfPlayConfig(**{"sims": 24, "in_flight": 8, "groups": 2, **settings})
    play_games(Hashed(), config, range(n), seed=seed, on_game=games.append)
    return sorted(games, key=lambda game: game.number)


def as_plain(games):
    return [(g.number, g.result, repr(g.rows.tolist()), g.counts.tolist()) for g in games]


def test_every_game_is_legal_and_ends_as_the_rules_say():
    for game in play(tables=0):
        replayed = game.replay()
        outcome = replayed.outcome()
        assert (outcome.result if outcome else "*") == game.header.result
        assert len(replayed.moves) == game.header.plies
        # It ended at the first possible position.
        replayed.pop()
        assert replayed.outcome() is None


def test_a_game_is_the_same_by_seed_in_one_thread_or_two():
    assert as_plain(play()) == as_plain(play())
    assert as_plain(play(groups=1, in_flight=1)) == as_plain(play(groups=3, in_flight=5))


def test_another_seed_plays_other_games():
    assert as_plain(play(seed=3)) != as_plain(play(seed=4))


def test_rows_describe_the_games():
    games = play()
    table = to_table(games)
    table.validate(full=True)
    assert table.schema.equals(SELFPLAY_SCHEMA)
    rows = table.to_pylist()
    keys = [(r["game"], r["ply"], r["hop"]) for r in rows]
    assert keys == sorted(set(keys))
    at = 0
    for game in games:
        position = Position.start()
        winner = {1: True, -1: False}.get(game.result)
        for _ in range(len(game.rows)):
            row = rows[at]
            at += 1
            assert row["black"] == position.black
            assert row["board"] == position.board.tolist()
            assert row["jumper"] == position.jumper
            assert row["quiet"] == position.halfmove_clock
            legal = np.unpackbits(np.frombuffer(row["legal"], np.uint8), bitorder="little")
            assert np.flatnonzero(legal).tolist() == position.legal_actions()
            assert [v["label"] for v in row["visits"]] == position.legal_actions()
            assert sum(v["count"] for v in row["visits"]) >= 1
            assert -1 <= row["q"] <= 1
            assert row["generation"] == 0
            assert row["z"] == (0 if winner is None else 1 if winner == position.black else -1)
            position = position.push_action(row["label"])
    assert at == len(rows)


def test_an_unfinished_game_has_no_result():
    games = play(4, max_plies=6)
    table = to_table(games)
    assert table["z"].null_count == table.num_rows
    assert [(game.header.result, game.header.plies) for game in games] == [("*", 6)] * 4


def test_a_shard_has_the_games_and_their_pdn(tmp_path):
    games = play()
    path = tmp_path / "shard.parquet"
    path.write_bytes(Shard("w", "s").pack(games[::-1]))
    shard, table = Shard.read_rows(path)
    assert table.equals(to_table(games))
    assert list(shard.games) == [game.header for game in games]
    texts = list(games_as_pdn(path, games[0].spec))
    assert texts == [game.pdn() for game in games]
    for game, text in zip(games, texts, strict=True):
        assert f'[Result "{game.header.result}"]' in text
        (read,) = read_games(BytesIO(text.encode()))
        assert [str(move.move) for move in read.moves] == [str(move) for move in game.replay().moves]
    twice = tmp_path / "twice.parquet"
    twice.write_bytes(path.read_bytes())
    assert reader.describe([path, twice]) == reader.describe(path)


def test_a_report_counts_the_results():
    games = [game.header for game in play()]
    results = [game.result for game in games]
    assert len(set(results)) > 1
    report = describe(games, SelfPlayConfig())
    counts = [report[name] for name in ("black_won", "drawn", "white_won", "unknown")]
    assert counts == [results.count(result) for result in ("1-0", "1/2-1/2", "0-1", "*")]
    assert report["games"] == 12
    assert report["plies_mean"] == np.mean([game.plies for game in games])


def test_games_can_start_elsewhere():
    start = Position.from_fen("W:WK18,K15:BK4")
    games = []
    config = SelfPlayConfig(sims=50, in_flight=2, groups=1, noise_epsilon=0, temperature=0, tables=0)
    play_games(UniformEvaluator(), config, range(2), seed=0, on_game=games.append, starts=lambda _: start)
    assert all(game.replay().positions[0] == start for game in games)
    # White is the first player here and wins by force; Black's score is -1 all the same.
    assert {game.header.result for game in games} == {"0-1"}
    assert set(to_table(games)["z"].to_pylist()) == {1, -1}
    for row in to_table(games).to_pylist():
        assert row["z"] == (-1 if row["black"] else 1)


def test_an_error_in_the_evaluator_ends_the_run():
    class Broken(UniformEvaluator):
        def evaluate(self, boards, out_logits=None, out_values=None):
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        play_games(Broken(), SelfPlayConfig(in_flight=4), range(4), seed=0, on_game=lambda _: None)


@pytest.mark.parametrize(
    ("usual", "settings"),
    [
        ({}, {"sims": 12}),
        ({}, {"c_puct": 1.0}),
        ({}, {"noise_alpha": 0.1}),
        ({}, {"noise_epsilon": 0.0}),
        ({}, {"temperature": 0.5}),
        ({}, {"temperature_plies": 0}),
        ({}, {"temperature_halflife": 1.0}),
        ({}, {"max_plies": 20}),
        ({}, {"resign": 0.2}),
        ({"resign": 0.2}, {"resign_disabled_prob": 1.0}),
        ({}, {"tables": 0}),
    ],
    ids=str,
)
def test_every_setting_of_play_changes_the_games(usual, settings):
    assert not quick_rows(**usual).equals(quick_rows(**usual | settings))


@functools.cache
def quick_rows(**settings):
    """Rows of a few games; all of them are in every batch."""
    return to_table(play(in_flight=12, groups=1, **settings))


def loses_at_once(spec, game, move):
    """Whether the opponent ends the game after a move by winning on the spot."""
    after = spec.game(game.position.push(move))
    if after.outcome() is not None:
        return False
    for reply in after.position.legal_moves():
        ended = spec.game(after.position.push(reply))
        if ended.outcome() is not None and ended.outcome().result != "1/2-1/2":
            return True
    return False


@pytest.mark.slow
def test_a_target_has_no_move_that_its_search_proved_lost():
    """In tic-tac-toe a move that loses at once is proven to when it is first visited."""
    spec, games = get_game("tictactoe"), []
    config = SelfPlayConfig(sims=40, in_flight=8, groups=1)
    play_games(UniformEvaluator(spec.num_actions), config, range(30), seed=3, on_game=games.append, spec=spec)
    dangers = 0
    for finished in games:
        game = spec.game(spec.position())
        for row in finished.rows:
            counts = finished.counts[row["first_count"] :][: row["num_counts"]]
            target = dict(zip(counts["action"].tolist(), counts["visits"].tolist(), strict=True))
            moves = game.position.legal_moves()
            lost = [move for move in moves if loses_at_once(spec, game, move)]
            assert sum(target.values()) > 0
            if len(lost) < len(moves) and row["q"] > -1:  # else all moves are proven losses
                dangers += len(lost)
                assert all(target[move.actions[0]] == 0 for move in lost), (game.moves, target)
            game.push(next(move for move in moves if move.actions[0] == row["action"]))
    assert dangers > 20


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_evaluations_that_are_not_finite_end_self_play_with_one_line(bad):
    class Broken(UniformEvaluator):
        def evaluate(self, boards, out_logits=None, out_values=None):
            logits, values = super().evaluate(boards, out_logits, out_values)
            logits[:, 40] = bad
            return logits, values

    config = SelfPlayConfig(sims=8, in_flight=4, groups=1, tables=0)
    with pytest.raises(ValueError, match="expected finite logits and values, found NaN or infinity"):
        play_games(Broken(), config, range(4), seed=0, on_game=lambda game: None)
