"""Several test processes share one Numba cache: each version of a kernel is compiled by one of them.

The others wait until it is in the cache and load it from there. Which process compiles what first is left to
the order of the tests.
"""

import functools
import hashlib
import os
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from numba.core import sigutils
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

_held = Counter()


@contextmanager
def _lock(folder, name):
    """Hold a lock that a process frees by dying, too. Only called under Numba's own lock of this process."""
    if _held[name]:  # a recursive kernel
        yield
        return
    with FileLock(folder / hashlib.sha256(name.encode()).hexdigest()[:20]):
        _held[name] += 1
        try:
            yield
        finally:
            _held[name] -= 1


def install() -> None:
    """Lock every compilation in this process whose result goes into the cache."""
    folder = Path(os.environ["NUMBA_CACHE_DIR"]) / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    compile_here = Dispatcher.compile

    @functools.wraps(compile_here)
    def compile_once(self, sig):
        args, _ = sigutils.normalize_signature(sig)
        if tuple(args) in self.overloads or isinstance(self._cache, NullCache):
            return compile_here(self, sig)
        code = self.py_func.__code__
        name = f"{code.co_filename}:{code.co_firstlineno} {tuple(map(str, args))}"
        # In this order everywhere: the lock between threads, then the one between processes.
        with global_compiler_lock, _lock(folder, name):
            return compile_here(self, sig)

    Dispatcher.compile = compile_once
