"""What Numba lacks: arrays without counts of references, pointers, choices without branches, prefetching."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def borrowed(typingctx: Any, value: Any) -> Any:
    """Return an array, or a tuple that holds some, without a count of references.

    Numba counts them wherever a view is made or passed on, by atomic operations that take longer than most
    of what a search does with the view. The arguments of a kernel live as long as the call.
    Only for arguments of a kernel; the result and views of it must not be returned from the kernel.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _without_owner(context, builder, value, args[0])

    return value(value), codegen


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.Array):
        view = context.make_array(kind)(context, builder, value)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, item in enumerate(kind.types):
            part = _without_owner(context, builder, item, builder.extract_value(value, i))
            value = builder.insert_value(value, part, i)
    return value


@intrinsic  # type: ignore[untyped-decorator]
def lent(typingctx: Any, value: Any) -> Any:
    """Return a pointer to a tuple, for functions that are called from here; see `taken`.

    A tuple is passed as all the numbers in it, some 280 words with a network and the arrays of a search.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        model = context.data_model_manager[value]
        slot = cgutils.alloca_once(builder, model.get_data_type())
        builder.store(model.as_data(builder, args[0]), slot)
        return slot

    return types.CPointer(value)(value), codegen


@intrinsic  # type: ignore[untyped-decorator]
def taken(typingctx: Any, pointer: Any) -> Any:
    """Return the tuple that a pointer was made of, `borrowed`. Only what is used of it is read."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        model = context.data_model_manager[pointer.dtype]
        value = model.from_data(builder, builder.load(args[0]))
        return _without_owner(context, builder, pointer.dtype, value)

    return pointer.dtype(pointer), codegen


@intrinsic  # type: ignore[untyped-decorator]
def choose(typingctx: Any, condition: Any, value: Any, other: Any) -> Any:
    """Return `value` where the condition holds, else `other`, both of one type and computed before.

    `value if condition else other` means the same, and the compiler may make a branch of it. This says that
    the condition is unpredictable, so that it becomes a conditional move.
    """
    if value != other:
        return None

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        chosen = builder.select(*args)
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
        return chosen

    return value(types.boolean, value, value), codegen


@intrinsic  # type: ignore[untyped-decorator]
def prefetch(typingctx: Any, array: Any, *indices: Any) -> Any:
    """Ask the CPU for the cache line of an element of an array, which may be beyond it, and continue."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        view = context.make_array(array)(context, builder, args[0])
        at = cgutils.unpack_tuple(builder, args[1])
        address = cgutils.get_item_pointer(context, builder, array, view, at)
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        form = ir.FunctionType(ir.VoidType(), (byte, word, word, word))
        function = builder.module.declare_intrinsic("llvm.prefetch", (byte,), form)
        read, keep, data = (ir.Constant(word, n) for n in (0, 3, 1))
        builder.call(function, (builder.bitcast(address, byte), read, keep, data))
        return context.get_dummy_value()

    return types.void(array, types.StarArgTuple((types.int64,) * array.ndim)), codegen
