"""Games against past networks: who plays whom, with which network, and which rows have policy targets."""

import re

import numpy as np
import pytest

from ckai.models.checkpoint import save_checkpoint
from ckai.models.network import build
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.run.dashboard import draw_opponents
from ckai.rl.run.games import pool_scores
from ckai.rl.run.run import Run
from ckai.rl.selfplay.config import PoolConfig, SelfPlayConfig
from ckai.rl.selfplay.play import Player, Pool, play_games
from ckai.rl.selfplay.shards import GameHeader, Shard, games_as_pdn

HALF = PoolConfig(share=0.5)


class Leaning:
    """Prefers the lowest legal action, or the highest."""

    def __init__(self, sign):
        self.name, self.scores = "leaning", -sign * np.arange(128, dtype=np.float32)

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits = np.tile(self.scores, (len(boards), 1)) if out_logits is None else out_logits
        values = np.zeros(len(boards), np.float32) if out_values is None else out_values
        logits[:], values[:] = self.scores, 0
        return logits, values

    def close(self):
        pass


def games_of(player, numbers):
    games = []
    config = SelfPlayConfig(
        sims=2, in_flight=8, groups=2, tables=0, noise_epsilon=0, temperature=0, max_plies=40
    )
    play_games(lambda: player, config, numbers, seed=3, on_game=games.append)
    return sorted(games, key=lambda game: game.number)


def test_opponents_depend_on_seed_and_number_alone():
    past = {2: Leaning(1), 5: Leaning(1)}
    pool = Pool(HALF, 7, past)
    opponents = [pool.opponent(n) for n in range(2000)]
    assert opponents == [Pool(HALF, 7, past).opponent(n) for n in range(2000)]
    drawn = [opponent for opponent in opponents if opponent]
    assert 900 < len(drawn) < 1100
    assert {(opponent.network, opponent.moves_first) for opponent in drawn} == {
        (2, True),
        (2, False),
        (5, True),
        (5, False),
    }
    assert not any(Pool(HALF, 7, {}).opponent(n) for n in range(20))
    assert not any(Pool(PoolConfig(), 7, past).opponent(n) for n in range(20))


def test_each_side_is_played_by_its_network():
    pool = Pool(HALF, 1, {0: Leaning(-1)})
    games = games_of(Player(Leaning(1), 3, pool), range(40))
    assert len(games) == 40
    met = 0
    for game in games:
        opponent = pool.opponent(game.number)
        met += opponent is not None
        position = game.replay().positions[0]
        for row in game.rows:
            by_opponent = opponent is not None and opponent.moves_first == (row["side"] == 0)
            actions = position.legal_actions()
            assert row["action"] == (max(actions) if by_opponent else min(actions))
            # The opponent's moves have no policy target.
            visits = game.counts["visits"][row["first_count"] : row["first_count"] + row["num_counts"]]
            assert visits.any() != by_opponent
            position = position.push_action(int(row["action"]))
        names = (game.header.black, game.header.white)
        new, old = "ckai generation 3", "ckai generation 0"
        if opponent is None:
            assert names == (new, new)
        else:
            assert names == ((old, new) if opponent.moves_first else (new, old))
    assert 10 < met < 30


def generation(n, score=0.5, accepted=True, pool=None, games=100):
    return {
        "generation": n,
        "accepted": accepted,
        "match": {"games": games, "score": score},
        "selfplay": {} if pool is None else {"pool": pool, "network": n - 1},
    }


def test_opponents_are_mostly_past_networks_of_about_equal_strength():
    assert draw_opponents(HALF, [], 0) == []
    assert draw_opponents(PoolConfig(), [generation(1)], 0) == []
    # Nothing but the first network was ever taken: there is no past.
    assert draw_opponents(HALF, [generation(1, accepted=False)], 0) == []
    history = [
        generation(1, 0.95),
        generation(2, 0.5, accepted=False),
        generation(3, 0.95),
        generation(4, 0.5),
    ]
    one = PoolConfig(share=0.5, opponents=1)
    drawn = [draw_opponents(one, history, seed)[0] for seed in range(400)]
    shares = {g: drawn.count(g) / 400 for g in (0, 1, 3)}
    assert drawn.count(2) == drawn.count(4) == 0
    # Expected scores of about 0.5 against 3, 0.95 against 1 and 0.997 against 0.
    assert shares[3] > 0.7
    assert shares[3] > shares[1] > shares[0]
    assert draw_opponents(PoolConfig(share=0.5, opponents=9), history, 0) == [0, 1, 3]


def share_of(opponent, history):
    """Share of draws of one opponent that are this one."""
    one = PoolConfig(share=0.5, opponents=1)
    return sum(draw_opponents(one, history, seed) == [opponent] for seed in range(400)) / 400


WON, EVEN = {"won": 99, "drawn": 1, "lost": 0}, {"won": 49, "drawn": 2, "lost": 49}


def test_games_of_the_pool_count_where_there_is_no_match():
    # The newest network, of generation 2, has no games: it counts as equal to network 1.
    won, even = ([generation(1, games=0), generation(2, games=0, pool={"0": pool})] for pool in (WON, EVEN))
    assert share_of(1, won) > 0.95  # expected scores of 0.5 against 1 and 0.99 against 0
    assert 0.4 < share_of(1, even) < 0.6
    lost = [generation(1, games=0), generation(2, games=0, pool={"0": {"won": 0, "drawn": 1, "lost": 99}})]
    assert share_of(1, lost) > 0.95  # 0.5 against 1 and 0.01 against 0


def test_the_scores_are_from_the_newer_networks_side():
    def header(black, white, result):
        return GameHeader(0, f"ckai generation {black}", f"ckai generation {white}", result, 9, ())

    games = [header(4, 7, "1-0"), header(7, 4, "1-0"), header(4, 7, "*"), header(5, 7, "0-1")]
    assert pool_scores([*games, header(7, 7, "1-0")]) == {
        "4": {"won": 1, "drawn": 1, "lost": 1},
        "5": {"won": 1, "drawn": 0, "lost": 0},
    }


def test_games_in_progress_go_on_with_the_new_networks():
    """One whose opponent has gone is played on by the newest alone; rows say who played them."""
    first = Player(Leaning(1), 3, Pool(HALF, 1, {0: Leaning(-1)}))
    second, now, calls = Player(Leaning(-1), 4), [first], []

    class Watched(Leaning):
        def evaluate(self, *given):
            calls.append(None)
            if len(calls) == 20:
                now[0] = second
            return super().evaluate(*given)

        def close(self):
            closed.append(self)

    closed, games = [], []
    now[0] = first._replace(evaluator=Watched(1))
    config = SelfPlayConfig(
        sims=2, in_flight=8, groups=2, tables=0, noise_epsilon=0, temperature=0, max_plies=40
    )
    play_games(lambda: now[0], config, range(12), seed=3, on_game=games.append)
    assert len(closed) == 1  # once no group plays with it
    both = [game for game in games if len(set(game.networks)) == 2]
    assert both
    for game in both:
        assert set(game.networks) == {3, 4}
        assert list(game.networks) == sorted(game.networks)
        position = game.replay().positions[0]
        first = list(game.networks).index(4)
        for n, row in enumerate(game.rows):
            if n > first + 1:  # the searches before may have begun with the old network
                assert game.counts["visits"][row["first_count"] :][: row["num_counts"]].any()
                assert row["action"] == max(position.legal_actions())
            position = position.push_action(int(row["action"]))
        assert game.header.black == game.header.white == "ckai generation 4"


@pytest.mark.slow
def test_a_run_meets_its_past_and_goes_on(tmp_path):
    path = tmp_path / "init.ckpt"
    save_checkpoint(path, build("cnn2x2", {"channels": 4, "hidden": 16}))
    config = RunConfig(
        games=12,
        selfplay=SelfPlayConfig(sims=4, in_flight=6, groups=2, max_plies=40),
        learn=LearnConfig(epochs=1, batch_size=64),
        gate=GateConfig(games=2, rule="none"),
        pool=PoolConfig(share=0.5),
    )
    run = Run.create(tmp_path / "run", path, config)
    for n in range(1, 4):
        Run.open(run.folder).go(n, lambda _: None)
    first, second, third = run.history()
    assert "pool" not in first["selfplay"]
    assert list(second["selfplay"]["pool"]) == ["0"]
    assert set(third["selfplay"]["pool"]) == {"0", "1"}
    assert [measured["selfplay"]["network"] for measured in run.history()] == [0, 1, 2]
    met = sum(sum(counts.values()) for counts in third["selfplay"]["pool"].values())
    text = "".join(text for path in run.shards(3) for text in games_as_pdn(path, run.spec))
    assert met == text.count("ckai generation 0") + text.count("ckai generation 1") > 0
    assert met + text.count("ckai generation 2") == 2 * config.games
    tags = re.findall(r'\[Black "(.*)"\]\n\[White "(.*)"\]', text)
    headers = [header for path in run.shards(3) for header in Shard.read_rows(path)[0].games]
    assert [(header.black, header.white) for header in headers] == tags
