"""Elo differences and SPRT from pairs of games."""

import math

import numpy as np
import pytest

from ckai.game import Game, Outcome, Reason
from ckai.rl.matches.elo import MAX_ELO, PairStatistics, Sprt, elo_of, elo_text, score_of
from ckai.rl.matches.match import MatchGame, MatchResult


def test_elo_and_score_are_each_others_inverse():
    assert elo_of(0.5) == 0
    assert elo_of(0.75) == pytest.approx(190.85, abs=0.01)
    for elo in (-300.0, -10.0, 0.0, 55.0, 400.0):
        assert elo_of(score_of(elo)) == pytest.approx(elo)
    assert (elo_of(0.0), elo_of(1.0)) == (-MAX_ELO, MAX_ELO)


def test_few_pairs_are_not_certain():
    assert PairStatistics.of([]).interval == (-MAX_ELO, MAX_ELO)
    low, high = PairStatistics.of([0.5]).interval
    assert low < -100 < 100 < high
    low, high = PairStatistics.of([1.0] * 4).interval
    assert low < 1000 <= high


def test_a_match_that_was_all_lost_has_a_bound_and_no_difference():
    lost, won = PairStatistics.of([0.0] * 4), PairStatistics.of([1.0] * 4)
    assert lost.json["elo"] is lost.json["interval"][0] is won.json["elo"] is won.json["interval"][1] is None
    assert lost.json["interval"][1] == pytest.approx(-won.json["interval"][0])
    assert lost.json["interval"][1] < 0
    texts = [elo_text(each.elo, *each.interval) for each in (lost, won, PairStatistics.of([]))]
    assert texts == [f"below {lost.interval[1]:+.0f}", f"above {won.interval[0]:+.0f}", "unknown"]
    assert 0 < PairStatistics.of([1.0] * 4).shrunk_elo < 400
    assert PairStatistics.of([0.75, 0.5]).json["elo"] == pytest.approx(elo_of(0.625))


def test_score_and_elo_rest_on_the_same_games():
    lost = Outcome("black", Reason.RESIGNED)
    games = [MatchGame(0, True, Game(), None), MatchGame(0, False, Game(), None)]
    result = MatchResult([*games, MatchGame(1, False, Game(), lost)])
    assert result.summary() == {"games": 2, "wins": 0, "draws": 2, "losses": 0, "score": 0.5}
    assert (result.pairs.elo, len(result.games)) == (0, 3)


@pytest.mark.parametrize("pairs", [2, 6, 30])
@pytest.mark.parametrize("elo", [0, 300])
@pytest.mark.parametrize("draws", [0.0, 0.6])
def test_intervals_of_few_pairs_have_nominal_coverage(pairs, elo, draws):
    rng, truth = np.random.default_rng(pairs), score_of(elo)
    drawn = draws * 2 * (1 - truth)  # share of drawn games
    values = [1.0, 0.5, 0.0]
    games = rng.choice(values, p=[truth - drawn / 2, drawn, 1 - truth - drawn / 2], size=(1500, pairs, 2))
    found = [PairStatistics.of(scores.tolist()).score_interval for scores in games.mean(axis=2)]
    coverage = np.mean([low <= truth <= high for low, high in found])
    assert 0.91 < coverage <= 1
    if pairs >= 30:
        assert 0.93 < coverage < 0.97


def test_sprt_has_its_nominal_error_rates():
    """Few players at elo0 pass, and few at elo1 are rejected."""
    rng = np.random.default_rng(1)
    test = Sprt(0.0, 60.0)
    for elo, wanted in ((0.0, False), (60.0, True)):
        # Two won or lost games a pair, with that expected score; more pairs than any match needs.
        matches = (rng.random((300, 4000, 2)) < score_of(elo)).mean(axis=2)
        found = [test.test(scores.tolist()) for scores in matches]
        wrong, pairs = sum(each.verdict is not wanted for each in found), [each.pairs.pairs for each in found]
        assert wrong / 300 < 0.09
        assert np.median(pairs) < 400


def test_sprt_decides_once():
    """What comes after the pair that decided changes neither the verdict nor its figures."""
    test = Sprt(0.0, 100.0)
    for won, lost in ((1.0, 0.0), (0.0, 1.0)):
        scores = [0.5, won, won, 0.5] + [won] * 20
        first = next(n for n in range(len(scores)) if test.test(scores[: n + 1]).verdict is not None) + 1
        decided = test.test(scores[:first])
        assert decided.verdict is (won == 1.0)
        assert decided.pairs == PairStatistics.of(scores[:first])
        assert test.test(scores[:first] + [lost] * 50) == decided
        assert first < 15


@pytest.mark.parametrize("bounds", [(10, 5), (0, 0), (math.nan, 5), (0, math.nan), (0, math.inf)])
def test_bounds_that_sprt_cannot_test(bounds):
    with pytest.raises(ValueError, match="expected ELO0 below ELO1"):
        Sprt(*bounds)
