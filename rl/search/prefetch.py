"""Prefetching: ask the CPU for memory that is read soon, and go on with other work."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ckai.game.jit import hot
from ckai.rl.search.arrays import EDGE
from ckai.rl.search.memory import CACHE_LINE

EDGES_PER_LINE = CACHE_LINE // EDGE.itemsize
USUAL_LINES = 4
"""Cache lines with the edges of most nodes."""


def _prefetch(context, builder, signature, args):
    """Prefetch the cache line of an element of the array `args[0]`, whose indices follow."""
    view = context.make_array(signature.args[0])(context, builder, args[0])
    offset = ir.Constant(ir.IntType(64), 0)
    for index, stride in zip(args[1:], cgutils.unpack_tuple(builder, view.strides), strict=True):
        offset = builder.add(offset, builder.mul(index, stride))
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    address = builder.gep(builder.bitcast(view.data, byte), [offset])
    form = ir.FunctionType(ir.VoidType(), (byte, word, word, word))
    function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), form)
    read, keep, data = (ir.Constant(word, n) for n in (0, 3, 1))
    builder.call(function, (address, read, keep, data))
    return context.get_dummy_value()


@intrinsic
def prefetch(typingctx, array, row, column):
    """Prefetch the cache line of the first byte of `array[row, column]`; the array has two dimensions.

    Indices beyond the array do no harm.
    """
    return types.void(array, types.int64, types.int64), _prefetch


@intrinsic
def prefetch_entry(typingctx, array, index):
    """Prefetch the cache line of the first byte of `array[index]`; the array has one dimension."""
    return types.void(array, types.int64), _prefetch


@hot
def prefetch_edges(trees, t, first, count):
    """Prefetch edges `first` to `first + count - 1` of tree `t`."""
    last = first + count - 1
    # A line too many costs less than a branch, which the CPU would often guess wrong.
    for line in range(USUAL_LINES):
        prefetch(trees.edges, t, min(first + line * EDGES_PER_LINE, last))
    for e in range(first + USUAL_LINES * EDGES_PER_LINE, last, EDGES_PER_LINE):
        prefetch(trees.edges, t, e)
    prefetch(trees.edges, t, last)  # the range may begin within a line
