"""Round robins and ladders: ratings recover known strengths; the commands."""

import json

import numpy as np
import pytest

from ckai.pdn import read_games
from ckai.rl.matches.elo import PairStatistics, score_of
from ckai.rl.matches.ladder import ladder_rating
from ckai.rl.matches.ratings import cross_table, ratings


def results(elos, pairs, seed=0):
    """Scores of pairs of games between players of known strength."""
    rng = np.random.default_rng(seed)
    return {
        (i, j): (rng.random((pairs, 2)) < score_of(elos[i] - elos[j])).mean(1).tolist()
        for i in range(len(elos))
        for j in range(i + 1, len(elos))
    }


def test_ratings_find_the_strengths():
    elos = np.array([-200.0, -50.0, 0.0, 50.0, 200.0])
    found = ratings(5, results(elos, 2000), resamples=100)
    assert np.abs(np.array([r.elo for r in found]) - elos).max() < 20
    assert sum(r.points for r in found) == 10 * 2000 * 2
    assert {r.games for r in found} == {4 * 4000}


def test_intervals_hold_the_truth():
    elos = np.array([-100.0, 0.0, 100.0])
    inside = 0
    for seed in range(60):
        found = ratings(3, results(elos, 60, seed), resamples=60)
        inside += sum(r.low <= elo <= r.high for r, elo in zip(found, elos, strict=True))
    assert 0.88 < inside / 180 <= 1


def test_a_player_that_won_all_games_has_a_rating():
    found = ratings(2, {(0, 1): [1.0] * 5})
    assert 100 < found[0].elo < 1000
    assert found[0].elo == pytest.approx(-found[1].elo)


def test_a_cross_table():
    table = cross_table(3, {(0, 1): [1.0, 0.5], (0, 2): [], (1, 2): [0.25]})
    assert table[0, 1] == 0.75
    assert table[1, 0] == 0.25
    assert table[2, 1] == 0.75
    assert np.isnan(table[0, 2])
    assert np.isnan(table[1, 1])


@pytest.mark.parametrize("level", [40, 300, 5000])
def test_a_ladder_finds_the_level(level):
    rng = np.random.default_rng(level)
    rungs = {}
    for playouts in [10 * 2**n for n in range(12)]:
        score = score_of(80 * np.log2(level / playouts))
        rungs[playouts] = PairStatistics.of((rng.random((400, 2)) < score).mean(1).tolist())
    assert level / 1.25 < ladder_rating(rungs) < level * 1.25


def test_a_ladder_that_is_too_short():
    won = {n: PairStatistics.of([1.0] * 20) for n in (10, 20, 40)}
    lost = {n: PairStatistics.of([0.0] * 20) for n in (10, 20, 40)}
    assert ladder_rating(won) >= 40
    assert ladder_rating(lost) <= 10


@pytest.mark.draws
def test_the_tournament_command(ckai, tmp_path):
    plot = tmp_path / "t.png"
    names = ("random", "alphabeta@1", "rollout@20")
    status, out, _ = ckai("tournament", *names, "--games", 4, "-o", plot, "--json")
    result = json.loads(out)
    assert status == 0
    assert [player["name"] for player in result["players"]] == list(names)
    assert sum(player["points"] for player in result["players"]) == 3 * 4
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert len(list(read_games(tmp_path / "t.pdn"))) == 12
    status, out, _ = ckai("tournament", *names, "--games", 2, "-o", plot)
    assert status == 0
    assert "score of the row" in out
    assert ckai("tournament", "random", "-o", plot)[0] == 2
    assert ckai("tournament", "random", "nobody", "-o", plot)[0] == 1


@pytest.mark.draws
def test_the_ladder_command(ckai, tmp_path):
    plot = tmp_path / "l.png"
    arguments = ("ladder", "alphabeta@2", "--last", 40, "--games", 4, "-o", plot)
    status, out, _ = ckai(*arguments, "--json")
    result = json.loads(out)["players"][0]
    assert status == 0
    assert list(result["rungs"]) == ["10", "20", "40"]
    assert plot.read_bytes().startswith(b"\x89PNG")
    status, out, _ = ckai(*arguments)
    assert "as good as vanilla MCTS with" in out
    status, out, _ = ckai("ladder", "random", "--games", 4, "-o", plot, "--json")
    assert len(json.loads(out)["players"][0]["rungs"]) < 12  # stops after a lost rung
    assert ckai("ladder", "random", "--first", 50, "--last", 20)[0] == 2
