"""Lets several processes write Numba's cache on disk at once.

Numba keeps an index for each function, from argument types to files of machine code, and adds to it by
reading it and writing it back, with no lock. Two processes that compile one function for different types at
the same time may give both versions the same file name; a later process then runs machine code made for
other types. Here each read and each write of an entry holds a lock on the folder.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

LOCK = ".ckai.lock"
"""Name of the lock file in a cache folder."""

_save, _load = IndexDataCacheFile.save, IndexDataCacheFile.load


@contextmanager
def _locked(folder: str | os.PathLike[str], *, shared: bool) -> Iterator[None]:
    """Hold the lock of a cache folder; go without where none can be had.

    Args:
        folder: the cache folder. One that is missing or read-only has no writers either.
        shared: with other readers.
    """
    try:
        import fcntl

        file = (Path(folder) / LOCK).open("a")
    except (ImportError, OSError):
        yield
        return
    with file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


def _save_locked(self: Any, key: Any, data: Any) -> None:
    with _locked(self._cache_path, shared=False):
        _save(self, key, data)


def _load_locked(self: Any, key: Any) -> Any:
    with _locked(self._cache_path, shared=True):
        return _load(self, key)


def install() -> None:
    """Lock the cache of every compiled function of this process."""
    IndexDataCacheFile.save = _save_locked
    IndexDataCacheFile.load = _load_locked
