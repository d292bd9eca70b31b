"""The decorators of kernels: what Numba compiles of a function, beside the function.

Half of what compiling takes is the code around a function: a wrapper for callers in Python, one for callers
in C, and versions for arguments that are constants (`-1`, `False`). Most functions here have callers among
kernels only and need none of these.
"""

from typing import Any

from numba import njit
from numba.extending import register_jitable

from ckai.game import kernel_cache

kernel_cache.install()

kernel: Any = njit(cache=True, nogil=True, no_cfunc_wrapper=True)
"""For functions that Python calls: other threads run meanwhile."""
quick_kernel: Any = njit(cache=True, no_cfunc_wrapper=True)
"""For functions that Python calls and that take a microsecond, less than releasing the interpreter costs."""


def inner(function: Any) -> Any:
    """Let kernels call a function; for Python it stays the function that it is.

    A call with constants compiles the version for int64 and bool, not one for each constant.
    """
    return register_jitable(cache=True, no_cfunc_wrapper=True)(function)
