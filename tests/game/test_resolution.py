"""Numba's answers are remembered, and stay the same."""

import operator

import pytest
from numba import njit, types
from numba.core.errors import TypingError
from numba.core.registry import cpu_target
from numba.extending import type_callable

from ckai.game import resolution

CALLS = [
    (operator.add, (types.int64, types.int64)),
    (operator.add, (types.int64, types.literal(3))),
    (operator.rshift, (types.uint8, types.literal(1))),
    (operator.iadd, (types.int64, types.boolean)),
    (operator.floordiv, (types.float64, types.int64)),
    (operator.lt, (types.uint64, types.int64)),
    (operator.getitem, (types.Array(types.int8, 2, "C"), types.UniTuple(types.int64, 2))),
    (operator.getitem, (types.UniTuple(types.int64, 2), types.int64)),
    (operator.eq, (types.UniTuple(types.int64, 2), types.UniTuple(types.int64, 2))),
    (max, (types.int64, types.literal(0))),
    (len, (types.Array(types.uint8, 1, "C"),)),
]


@pytest.fixture
def context():
    found = cpu_target.typing_context
    found.refresh()
    return found


@pytest.mark.parametrize(("function", "of"), CALLS)
def test_a_remembered_call_is_what_numba_resolves(context, function, of, monkeypatch):
    kind = context.resolve_value_type(function)
    fresh = resolution._resolve(kind, context, of, {})
    implementation = kind.get_impl_key(fresh)
    assert kind.get_call_type(context, of, {}) == fresh
    kind._impl_keys.clear()
    if implementation is function:  # not written in Python
        monkeypatch.setattr(resolution, "_resolve", None)
    assert kind.get_call_type(context, of, {}) == fresh
    assert kind.get_impl_key(fresh) is implementation


def test_arithmetic_of_integers_is_resolved_once(context, monkeypatch):
    asked = []

    def resolve(self, context, args, kws):
        asked.append((self.typing_key, args))
        return before(self, context, args, kws)

    before = resolution._resolve
    monkeypatch.setattr(resolution, "_resolve", resolve)
    monkeypatch.setattr(resolution, "_resolved", {})

    def add(a, b):
        return (a + b) & (a + b + b)

    assert [njit(add)(5, 2), njit(lambda a, b: a + b)(5, 2)] == [add(5, 2), 7]
    assert asked.count((operator.add, (types.int64, types.int64))) == 1


def test_an_implementation_registered_later_is_used(context):
    def half(x):
        raise NotImplementedError

    @type_callable(half)
    def half_of_integer(context):
        return lambda x: types.int64 if x == types.int64 else None

    def answer(of):
        context.refresh()
        return context.resolve_value_type(half).get_call_type(context, (of,), {}).return_type

    assert answer(types.int64) == types.int64
    with pytest.raises(TypingError):
        answer(types.float64)

    @type_callable(half)
    def half_of_float(context):
        return lambda x: types.float64 if x == types.float64 else None

    assert answer(types.float64) == types.float64
    assert answer(types.int64) == types.int64
