"""Elo differences and SPRT from pairs of games."""

import math

import numpy as np
import pytest

from ckai.rl.matches.elo import MOST_ELO, PairStatistics, elo_of, score_of
from ckai.rl.matches.sprt import Sprt


def test_elo_and_score_are_each_others_inverse():
    assert elo_of(0.5) == 0
    assert elo_of(0.75) == pytest.approx(190.85, abs=0.01)
    for elo in (-300.0, -10.0, 0.0, 55.0, 400.0):
        assert elo_of(score_of(elo)) == pytest.approx(elo)
    assert (elo_of(0.0), elo_of(1.0)) == (-MOST_ELO, MOST_ELO)


def test_few_pairs_are_not_certain():
    assert PairStatistics.of([]).interval == (-MOST_ELO, MOST_ELO)
    low, high = PairStatistics.of([0.5]).interval
    assert low < -100 < 100 < high
    low, high = PairStatistics.of([1.0] * 4).interval
    assert low < 1000 <= high


def test_the_interval_has_its_nominal_coverage():
    rng = np.random.default_rng(0)
    draws = rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], p=[0.05, 0.15, 0.4, 0.25, 0.15], size=(2000, 100))
    truth = elo_of(0.25 * 0.15 + 0.5 * 0.4 + 0.75 * 0.25 + 0.15)
    inside = 0
    for scores in draws:
        low, high = PairStatistics.of(scores.tolist()).interval
        inside += low <= truth <= high
    assert 0.93 < inside / len(draws) < 0.97


def test_sprt_has_its_nominal_error_rates():
    """Few players at elo0 pass, and few at elo1 are rejected."""
    rng = np.random.default_rng(1)
    test = Sprt(0.0, 60.0, 0.05, 0.05)
    for elo, wanted in ((0.0, False), (60.0, True)):
        wrong, pairs = 0, []
        for _ in range(300):
            scores: list[float] = []
            verdict = None
            while verdict is None:
                # Two won or lost games with that expected score.
                scores.append(float(np.mean(rng.random(2) < score_of(elo))))
                verdict = test.test(scores).verdict
            wrong += verdict is not wanted
            pairs.append(len(scores))
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


def test_the_ratio_of_sprt_is_that_of_its_formula():
    rng = np.random.default_rng(3)
    scores = rng.choice([0.25, 0.5, 0.75], 30).tolist()
    found = Sprt(0.0, 10.0).test(scores)
    s0, s1, pairs = score_of(0.0), score_of(10.0), PairStatistics.of(scores)
    assert found.verdict is None
    assert found.ratio == pytest.approx((s1 - s0) * (2 * pairs.score - s0 - s1) / (2 * pairs.error**2))


@pytest.mark.parametrize("bounds", [(10, 5), (0, 0), (math.nan, 5), (0, math.nan), (0, math.inf)])
def test_bounds_that_sprt_cannot_test(bounds):
    with pytest.raises(ValueError, match="expected ELO0 below ELO1"):
        Sprt(*bounds)


def test_the_probability_of_being_better():
    assert PairStatistics.of([0.5] * 50).superiority == pytest.approx(0.5)
    assert PairStatistics.of([0.75, 0.5] * 50).superiority > 0.999
    assert math.isclose(
        PairStatistics.of([0.25, 0.5] * 50).superiority,
        1 - PairStatistics.of([0.75, 0.5] * 50).superiority,
        abs_tol=1e-9,
    )
