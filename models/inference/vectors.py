"""Vectors of integers for kernels, in registers: 32 numbers of 16 bits, or 16 of 32 bits.

LLVM makes the CPU's widest instructions of them, such as one that multiplies 32 pairs of numbers and adds the
products by twos. Of a loop over int16 whose sum is int32 it makes those for 8 pairs.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, register_model

SCALE = 512
"""Integer that stands for 1, of an activation or a weight."""
LANES = 32
"""Numbers of 16 bits in a vector."""
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_SHORTS, _SUMS, _WIDE = (ir.VectorType(ir.IntType(b), n) for b, n in ((16, LANES), (32, 16), (32, LANES)))


class Vector(types.Type):  # type: ignore[misc]
    """The type of a vector."""


SHORTS, SUMS = Vector("int16 x 32"), Vector("int32 x 16")


@register_model(Vector)
class _Register(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _SHORTS if kind == SHORTS else _SUMS)


def _operation(result: Any, build: Callable[..., Any]) -> Any:
    """Return a function for kernels that `build` makes with an IR builder, from the address of an array."""

    def define(typingctx: Any, *kinds: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            arrays = [isinstance(kind, types.Array) and context.make_array(kind) for kind in kinds]
            given = zip(arrays, values, strict=True)
            return build(builder, *(of(context, builder, value).data if of else value for of, value in given))

        return result(*kinds), codegen

    define.__signature__ = signature(build)  # type: ignore[attr-defined]
    return intrinsic(define)


def _address(b: Any, array: Any, at: Any, form: Any) -> Any:
    return b.bitcast(b.gep(array, [at]), form.as_pointer())


def _read(b: Any, array: Any, at: Any, form: Any) -> Any:
    return b.load(_address(b, array, at, form), align=2)


def _write(b: Any, array: Any, at: Any, vector: Any) -> Any:
    b.store(vector, _address(b, array, at, vector.type), align=2)
    return ir.Constant(_I64, 0)


def _lanes(b: Any, vector: Any, lanes: Any, other: Any = None) -> Any:
    where = ir.Constant(ir.VectorType(_I32, len(lanes)), list(lanes))
    return b.shuffle_vector(vector, other or ir.Constant(vector.type, ir.Undefined), where)


def _products(b: Any, one: Any, other: Any) -> Any:
    products = b.mul(b.sext(one, _WIDE), b.sext(other, _WIDE))
    return b.add(*(_lanes(b, products, range(first, LANES, 2)) for first in (0, 1)))


def _spread(b: Any, both: Any) -> Any:
    first = b.insert_element(ir.Constant(_SUMS, ir.Undefined), both, ir.Constant(_I32, 0))
    return b.bitcast(_lanes(b, first, [0] * 16), _SHORTS)


def _nonzero(b: Any, pairs: Any) -> Any:
    return b.zext(b.bitcast(b.icmp_signed("!=", pairs, ir.Constant(_SUMS, None)), ir.IntType(16)), _I64)


def _total(b: Any, sums: Any) -> Any:
    form = ir.FunctionType(_I32, (_SUMS,))
    return b.call(b.module.declare_intrinsic("llvm.vector.reduce.add.v16i32", (), form), [sums])


def _clipped(b: Any, units: Any) -> Any:
    none, most = (ir.Constant(units.type, [n] * LANES) for n in (0, SCALE))
    units = b.select(b.icmp_signed("<", units, none), none, units)
    return b.select(b.icmp_signed(">", units, most), most, units)


def _divided(b: Any, products: Any) -> Any:
    half, shift = (ir.Constant(_WIDE, [n] * LANES) for n in (SCALE // 2, 9))
    return b.ashr(b.add(products, half), shift)


def _rounded(b: Any, low: Any, high: Any) -> Any:
    return b.trunc(_clipped(b, _divided(b, _lanes(b, low, range(LANES), high))), _SHORTS)


def _product(b: Any, one: Any, other: Any) -> Any:
    one, other = (b.sext(_clipped(b, units), _WIDE) for units in (one, other))
    return b.trunc(_divided(b, b.mul(one, other)), _SHORTS)


load = _operation(SHORTS, lambda b, array, at: _read(b, array, at, _SHORTS))
"""The numbers of an array of int16 from an element on, counted through all axes."""
load_sums = _operation(SUMS, lambda b, array, at: _read(b, array, at, _SUMS))
"""The numbers of an array of int32 from an element on."""
put = _operation(types.int64, _write)
"""Write numbers into an array of int16 from an element on."""
pair = _operation(SHORTS, lambda b, array, at: _spread(b, _read(b, array, at, _I32)))
"""An element of an array of int16 and the next, 16 times."""
nonzero_pairs = _operation(types.int64, lambda b, array, at: _nonzero(b, _read(b, array, at, _SUMS)))
"""Which of 16 pairs of elements of an array of int16 are not both 0, as bits."""
zeros = _operation(SUMS, lambda b: ir.Constant(_SUMS, None))
"""Sums of 0."""
exchanged = _operation(SHORTS, lambda b, sums, old, new: b.add(b.sub(sums, old), new))
"""Sums with other terms: `sums - old + new`."""
plus_products = _operation(SUMS, lambda b, sums, one, other: b.add(sums, _products(b, one, other)))
"""Each sum and the products of the two pairs of numbers in its place."""
total = _operation(types.int32, _total)
"""The sum of all."""
clipped = _operation(SHORTS, _clipped)
"""Numbers clipped to 0 to 512."""
product = _operation(SHORTS, _product)
"""The products of clipped numbers / 512, rounded."""
rounded = _operation(SHORTS, _rounded)
"""Sums / 512, rounded and clipped to 0 to 512."""
