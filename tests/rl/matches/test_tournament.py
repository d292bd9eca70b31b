"""Round robins: ratings recover known strengths; the commands."""

import json
from itertools import combinations

import numpy as np
import pytest

from ckai.cli.match import print_ratings
from ckai.cli.shared.found import short_name
from ckai.pdn import read_games
from ckai.rl.matches.elo import ratings, score_of


def results(elos, pairs, seed=0, draws=0.0):
    """Scores of pairs of games between players of known strength; of the most draws possible this share."""
    rng, scores = np.random.default_rng(seed), {}
    for i, j in combinations(range(len(elos)), 2):
        score = score_of(elos[i] - elos[j])
        drawn = 2 * draws * min(score, 1 - score)
        games = rng.choice([1.0, 0.5, 0.0], (pairs, 2), p=[score - drawn / 2, drawn, 1 - score - drawn / 2])
        scores[i, j] = games.mean(1).tolist()
    return scores


def test_ratings_find_the_strengths():
    elos = np.array([-200.0, -50.0, 0.0, 50.0, 200.0])
    found = ratings(5, results(elos, 2000))
    assert np.abs(np.array([r.elo for r in found]) - elos).max() < 20
    assert sum(r.points for r in found) == 10 * 2000 * 2
    assert {r.games for r in found} == {4 * 4000}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("elos", "pairs", "draws"),
    [
        ([-100, 100], 6, 0.0),
        ([-150, -50, 50, 150], 1, 0.6),
        (np.linspace(-300, 300, 8), 1, 0.0),
        ([-200, 0, 200], 20, 0.6),
        ([-200, -200, 200, 200], 4, 0.6),
    ],
)
def test_intervals_hold_the_truth_as_often_as_they_say(elos, pairs, draws):
    elos = np.array(elos, float)
    inside = []
    for seed in range(150):
        found = ratings(len(elos), results(elos, pairs, seed, draws))
        inside.append([r.low <= elo <= r.high for r, elo in zip(found, elos, strict=True)])
    assert np.mean(inside, axis=0).min() > 0.92


def test_a_player_that_won_all_games_has_a_rating():
    found = ratings(2, {(0, 1): [1.0] * 5})
    assert 100 < found[0].elo < 1000
    assert found[0].elo == pytest.approx(-found[1].elo)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("random", "random"),
        ("runs/a/networks/0003.ckpt@100", "a/0003.ckpt@100"),
        ("/home/me/runs/a/best.ckpt@1s", "a@1s"),
        (
            "hub:env A=/x/y/z python /x/y/engine.py /x/y/best.ckpt@1s",
            "hub:env y/z python y/engine.py y@1s",
        ),
        ("hub:/opt/engines/kingsrow -b", "hub:engines/kingsrow -b"),
        ("alphabeta:/home/me/nets/swift.ckpt@50ms", "alphabeta:nets/swift.ckpt@50ms"),
    ],
)
def test_names_are_shortened(name, shown):
    assert short_name(name) == shown


def test_a_round_robin(ckai, tmp_path):
    games = tmp_path / "t.pdn"
    names = ("random", "alphabeta@1", "rollout@20")
    status, out, _ = ckai("match", *names, "--games", 4, "-o", games, "--json")
    result = json.loads(out)
    assert status == 0
    assert [player["name"] for player in result["players"]] == list(names)
    assert sum(player["points"] for player in result["players"]) == 3 * 4
    assert sum(score for row in result["scores"] for score in row if score is not None) == 3
    assert len(list(read_games(games))) == 12
    status, out, _ = ckai("match", *names, "--games", 4)
    assert status == 0
    assert sum(line.split()[0] in ("1.", "2.", "3.") for line in out.splitlines()) == 3
    assert ckai("match", "random", "nobody", "alphabeta@1")[0] == 1


def test_tables_of_many_players_fit_on_a_screen(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"runs/a-run-with-quite-a-long-name-for-a-run/gen_{n:04}/network.ckpt@100" for n in range(15)]
    pairs = {(i, j): [1.0, 1.0] for i in range(15) for j in range(i + 1, 15)}
    print_ratings(names, pairs, as_json=False)
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert "\u2026" not in out
