"""Prefetching: ask the CPU for memory that is read soon, and go on with other work."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from ckai.game.jit import hot
from ckai.rl.search.arrays import EDGE
from ckai.rl.search.memory import CACHE_LINE

EDGES_PER_LINE = CACHE_LINE // EDGE.itemsize


@intrinsic
def prefetch(typingctx, array, row, column):
    """Prefetch the cache line of the first byte of `array[row, column]`; the array has two dimensions."""

    def codegen(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        strides = cgutils.unpack_tuple(builder, view.strides, 2)
        offset = builder.add(builder.mul(args[1], strides[0]), builder.mul(args[2], strides[1]))
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.gep(builder.bitcast(view.data, byte), [offset])
        form = ir.FunctionType(ir.VoidType(), (byte, word, word, word))
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), form)
        read, keep, data = (ir.Constant(word, n) for n in (0, 3, 1))
        builder.call(function, (address, read, keep, data))
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), codegen


@hot
def prefetch_edges(trees, t, first, count):
    """Prefetch edges `first` to `first + count - 1` of tree `t`."""
    for e in range(first, first + count, EDGES_PER_LINE):
        prefetch(trees.edges, t, e)
    prefetch(trees.edges, t, first + count - 1)  # the range may begin within a line
