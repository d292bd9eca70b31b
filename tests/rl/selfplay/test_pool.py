"""Games against past networks: who plays whom, with which network, and which rows have policy targets."""

import json
import math
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from ckai.models.checkpoint import save_checkpoint
from ckai.models.registry import build
from ckai.rl.loop.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.run import Run
from ckai.rl.selfplay.config import PoolConfig, SelfPlayConfig
from ckai.rl.selfplay.pool import Pool, _results, draw_opponents
from ckai.rl.selfplay.workers import play_games

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


def games_of(pool, numbers, **more):
    games = []
    config = SelfPlayConfig(
        sims=2, in_flight=8, groups=2, tables=0, noise_epsilon=0, temperature=0, max_plies=40
    )
    settings = {"seed": 3, "on_game": games.append, "pool": pool, **more}
    play_games(Leaning(1), config, numbers, **settings)
    return sorted(games, key=lambda game: game.number)


def test_opponents_depend_on_seed_and_number_alone():
    pool = Pool(HALF, 7, [2, 5])
    opponents = [pool.opponent(n) for n in range(2000)]
    assert opponents == [Pool(HALF, 7, [2, 5]).opponent(n) for n in range(2000)]
    drawn = [opponent for opponent in opponents if opponent]
    assert 900 < len(drawn) < 1100
    assert {(opponent.index, opponent.moves_first) for opponent in drawn} == {
        (0, True),
        (0, False),
        (1, True),
        (1, False),
    }
    assert pool.name(drawn[0]) == f"ckai generation {[2, 5][drawn[0].index]}"
    assert not any(Pool(HALF, 7, []).opponent(n) for n in range(20))
    assert not any(Pool(PoolConfig(), 7, [1]).opponent(n) for n in range(20))


def test_each_side_is_played_by_its_network():
    pool = Pool(HALF, 1, [0], [Leaning(-1)])
    games = games_of(pool, range(40), name="ckai generation 3")
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
            assert bool(row["full"]) != by_opponent
            position = position.push_action(int(row["action"]))
        names = (game.black, game.white)
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
        "selfplay": {} if pool is None else {"pool": pool},
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


def share_of(opponent, history, lag=1):
    """Share of draws of one opponent that are this one."""
    one = PoolConfig(share=0.5, opponents=1)
    return sum(draw_opponents(one, history, seed, lag) == [opponent] for seed in range(400)) / 400


WON, EVEN = {"won": 99, "drawn": 1, "lost": 0}, {"won": 49, "drawn": 2, "lost": 49}


def test_games_of_the_pool_count_where_there_is_no_match():
    # The newest network, of generation 2, has no games: it counts as equal to network 1.
    won, even = ([generation(1, games=0), generation(2, games=0, pool={"0": pool})] for pool in (WON, EVEN))
    assert share_of(1, won) > 0.95  # expected scores of 0.5 against 1 and 0.99 against 0
    assert 0.4 < share_of(1, even) < 0.6
    lost = [generation(1, games=0), generation(2, games=0, pool={"0": {"won": 0, "drawn": 1, "lost": 99}})]
    assert share_of(1, lost) > 0.95  # 0.5 against 1 and 0.01 against 0


def test_games_of_the_pool_count_for_the_network_that_played_them():
    # Network 1 is far better than 0. Generation 3 is played by network 2, or with overlap by network 1.
    played = {"0": EVEN}
    history = [
        generation(1, 0.95),
        generation(2, games=0),
        generation(3, games=0, pool=played),
    ]
    assert _results([0, 1, 2, 3], history, 1)[0, 2] == [0.5] * 50
    assert (0, 1) in _results([0, 1, 2, 3], history, 2)
    assert (0, 2) not in _results([0, 1, 2, 3], history, 2)
    assert _results([0, 1, 2, 3], history, 2)[0, 1] == pytest.approx([0.05] * 50 + [0.5] * 50)
    # Network 2 was rejected: generation 3 is played by network 1 in either case.
    history[1] = generation(2, games=0, accepted=False)
    assert _results([0, 1, 3], history, 1) == _results([0, 1, 3], history, 2)


def test_the_tally_is_from_the_newest_networks_side():
    pool = Pool(PoolConfig(share=1.0), 3, [4])
    scores = dict.fromkeys(range(20), 1.0)
    first = sum(pool.opponent(n).moves_first for n in range(20))
    assert pool.tally(scores) == {"4": {"won": 20 - first, "drawn": 0, "lost": first}}
    assert pool.tally({0: math.nan, 1: 0.0})["4"]["drawn"] == 2


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
    text = run.path(3, "games.pdn").read_text()
    assert met == text.count("ckai generation 0") + text.count("ckai generation 1") > 0
    assert met + text.count("ckai generation 2") == 2 * config.games
    headers = pq.read_table(run.path(3, "rows.headers.parquet")).to_pylist()
    tags = re.findall(r'\[Black "(.*)"\]\n\[White "(.*)"\]', text)
    assert [(header["black"], header["white"]) for header in headers] == tags
    assert json.loads(run.path(3, "selfplay.json").read_text())["pool"] == third["selfplay"]["pool"]


def test_settings_out_of_range_are_named():
    with pytest.raises(ValueError, match="expected share in"):
        PoolConfig(share=1.5)
    with pytest.raises(ValueError, match="expected opponents >= 1"):
        PoolConfig(opponents=0)
