"""The cache of evaluations: the same evaluations as without it, for any sequence of batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckai.rl.evaluators.cache import CachedEvaluator
from ckai.rl.evaluators.uniform import UniformEvaluator
from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.progress import SelfPlayCounts
from ckai.rl.selfplay.workers import play_games


class Counting(UniformEvaluator):
    """Evaluations that identify the position, and a count of the positions evaluated."""

    evaluated = 0

    def evaluate(self, boards, out_logits=None, out_values=None):
        logits, values = super().evaluate(boards, out_logits, out_values)
        self.evaluated += len(boards)
        mix = boards.astype(np.int64) @ np.arange(1, 35) ** 3
        logits[:] = np.sin(mix[:, None] * np.arange(1, 129))
        values[:] = np.sin(mix) * 0.5
        return logits, values


def boards_of(numbers):
    boards = np.zeros((len(numbers), 34), np.int8)
    boards[:, 33] = np.array(numbers) % 100
    boards[:, 0] = np.array(numbers) // 100
    return boards


@settings(max_examples=100)
@given(st.lists(st.lists(st.integers(0, 60), max_size=20), max_size=20), st.sampled_from([4, 8, 40, 1000]))
def test_answers_are_those_of_the_evaluator(batches, positions):
    cached = CachedEvaluator(Counting(), positions)
    for batch in batches:
        boards = boards_of(batch)
        expected = Counting().evaluate(boards)
        for mine, theirs in zip(cached.evaluate(boards), expected, strict=True):
            assert mine.tolist() == theirs.tolist()
    assert cached.lookups == sum(map(len, batches))
    assert cached.lookups - cached.hits == cached.inner.evaluated


def test_a_position_is_evaluated_once():
    cached = CachedEvaluator(Counting(), 1000)
    for _ in range(5):
        cached.evaluate(boards_of(range(50)))
    assert cached.inner.evaluated == 50
    assert cached.hits == 200


def test_given_arrays_are_filled():
    logits, values = np.zeros((3, 128), np.float32), np.zeros(3, np.float32)
    cached = CachedEvaluator(Counting(), 100)
    assert cached.evaluate(boards_of([1, 2, 3]), logits, values)[0] is logits
    assert np.abs(logits).sum() > 0


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("which", ["logits", "values"])
def test_numbers_that_are_not_finite_are_not_cached(wrong, which):
    class Failing(Counting):
        fails = True

        def evaluate(self, boards, out_logits=None, out_values=None):
            logits, values = super().evaluate(boards, out_logits, out_values)
            if self.fails:
                {"logits": logits, "values": values}[which][-1] = wrong
            return logits, values

    cached = CachedEvaluator(Failing(), 100)
    with pytest.raises(ValueError, match="expected finite logits and values"):
        cached.evaluate(boards_of([1, 2, 3]))
    cached.inner.fails = False
    expected = Counting().evaluate(boards_of([1, 2, 3]))
    for mine, theirs in zip(cached.evaluate(boards_of([1, 2, 3])), expected, strict=True):
        assert mine.tolist() == theirs.tolist()


def test_a_mask_of_minus_infinity_is_an_answer():
    class Masking(Counting):
        def evaluate(self, boards, out_logits=None, out_values=None):
            logits, values = super().evaluate(boards, out_logits, out_values)
            logits[:, 5:] = -np.inf
            return logits, values

    logits, _ = CachedEvaluator(Masking(), 100).evaluate(boards_of([1, 2]))
    assert np.isinf(logits[:, 5:]).all()


def test_answers_of_another_shape_are_refused():
    class Short(Counting):
        def evaluate(self, boards, out_logits=None, out_values=None):
            logits, values = super().evaluate(boards)
            return logits[:, :-1], values

    with pytest.raises(ValueError, match=r"expected logits \[2, 128\], found \[2, 127\]"):
        CachedEvaluator(Short(), 100).evaluate(boards_of([1, 2]))


def test_a_cache_too_small_is_refused():
    with pytest.raises(ValueError, match="expected a cache of 4"):
        CachedEvaluator(Counting(), 3)


def test_self_play_is_the_same_with_a_cache():
    def play(**settings):
        games, progress = [], SelfPlayCounts()
        config = SelfPlayConfig(sims=24, in_flight=8, groups=2, **settings)
        play_games(Counting(), config, range(10), seed=3, on_game=games.append, progress=progress)
        return sorted((g.number, repr(g.rows.tolist())) for g in games), progress

    without, none = play()
    with_cache, some = play(cache_positions=10_000)
    assert without == with_cache
    assert none.cache_hits == 0
    assert 0 < some.cache_hits < some.evaluations
