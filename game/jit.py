"""The decorators of kernels: what Numba compiles of a function, beside the function.

Most compile time is not for the function itself: a wrapper for callers in Python, one for callers in C,
versions for arguments that are constants (`-1`, `False`), and the same code optimized again in every function
that calls it. Functions that kernels call are compiled into them and nowhere else, see
`ckai.game.compiler.inlining`; only what Python calls gets a wrapper.
"""

from functools import partial
from types import FunctionType
from typing import Any

from numba import njit, typeof, types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from ckai.game import compiling
from ckai.game.compiler import kernel_cache, resolution
from ckai.game.compiler.inlining import SUPPORTED, ColdCompiler, InnerCompiler

kernel_cache.install(compiling.report_unsaved)
compiling.install()
resolution.install()

CACHED = kernel_cache.folder() is not None
"""Whether compiled code is kept; Numba refuses to define cached functions where it cannot be."""
COMMON: dict[str, Any] = {"cache": CACHED, "no_cfunc_wrapper": True, "error_model": "numpy"}
"""Options of all functions; dividing by zero gives an infinity or NaN, without a check before."""
INNER: dict[str, Any] = {**COMMON, "forceinline": False}
"""Options of a function that is compiled into its callers. Those not named here are taken from the caller."""
COUNTED: dict[str, Any] = {"_nrt": True}
"""Option of an inner function that allocates arrays, wherever it is called."""
COLD = dict(INNER)
"""Options of a function that a kernel calls now and then."""
if SUPPORTED:
    INNER["pipeline_class"], COLD["pipeline_class"] = InnerCompiler, ColdCompiler
HOT = INNER | {"forceinline": True}
"""Options of a function that is inlined at every call."""
KERNELS: list[Any] = []
"""Numba's dispatchers of all functions that Python calls."""


def inner(function: Any) -> Any:
    """Let kernels call a function; to Python it stays an ordinary function.

    A call with constants compiles the version for int64 and bool, not one for each constant.
    """
    return register_jitable(**INNER)(function)


def hot(function: Any) -> Any:
    """As `inner`, for what a search runs most: inlined at every call.

    Where the arguments of the kernel are `borrowed`, the compiler then sees that there
    are no references to count.
    """
    return register_jitable(**HOT)(function)


def cold(function: Any) -> Any:
    """As `inner`, for large functions that run now and then: never inlined, so compiled once in a kernel."""
    return register_jitable(**COLD)(function)


def recursive_kernel(function: Any) -> Any:
    """For functions that Python calls and that call themselves; other threads run meanwhile.

    The function and those it calls allocate nothing and return no arrays: they are compiled without Numba's
    counting of references, which would count every array of the arguments up and down in every call. What
    must allocate says so with the option `COUNTED`.
    """
    return _dispatcher(function, nogil=True, _nrt=False)


def quick_kernel(function: Any) -> Any:
    """For functions that Python calls and that take a microsecond: releasing the interpreter costs more."""
    return _for_both(function, nogil=False)


def kernel(function: Any) -> Any:
    """For functions that Python calls: other threads run meanwhile. Kernels may call them like `inner`."""
    return _for_both(function, nogil=True)


def compile_for(function: Any, *arguments: Any) -> Any:
    """Compile a kernel for the types of arguments, or load it from the cache, without calling it.

    Returns:
        The compiled function for these types. It skips the lookup of types, 8 us per call of a kernel with
        trees; arguments of other types, array layouts included, go unnoticed.
    """
    return function.func.compile(tuple(typeof(argument) for argument in arguments))


def _dispatcher(function: Any, **options: Any) -> Any:
    KERNELS.append(njit(**COMMON, **options)(function))
    return KERNELS[-1]


def _for_both(function: Any, *, nogil: bool) -> Any:
    """Return what Python calls; inside kernels it stands for the function as `inner` has it.

    A `partial` costs a call from Python nearly nothing. Its attribute `func` is Numba's dispatcher.
    """
    call: Any = partial(_dispatcher(function, nogil=nogil))
    call.__doc__, call.__name__ = function.__doc__, function.__name__
    body = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    body.__qualname__ = f"{function.__qualname__}_inner"  # the name in Numba's cache
    overload(call, jit_options=INNER, strict=False)(lambda *args: body)
    return call


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
