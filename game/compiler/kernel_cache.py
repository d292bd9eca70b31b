"""Lets several processes write Numba's cache on disk at once.

Numba keeps an index for each function, from argument types to files of machine code, and adds to it by
reading it and writing it back, with no lock. Two processes that compile one function for different types at
the same time may give both versions the same file name; a later process then runs machine code made for
other types. Here each read and each write of an entry holds a lock on the folder.

Numba refuses to define a cached function where no folder can be written, and to run one that it cannot save.
Here such functions run uncached.

A function is compiled with or without reference counting, as its caller is. Numba has one entry for
both in its index; here they have two.

Kernels call those of other modules, whose code becomes a part of theirs, but Numba stamps what it compiled
with the source of the kernel's own module alone. Here the stamp is of all modules of ckai with kernels.

Kernels are compiled for the rules that they are called with, a class of a game. The rules of a user's own
game change while they are written, and Numba looks at the source of the kernel alone: so the key of an entry
includes hashes of the file of the rules and of the modules beside it that it uses.
"""

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.targetconfig import ConfigStack
from numba.core.types.containers import BaseTuple

LOCK = ".ckai.lock"
"""Name of the lock file in a cache folder."""

PACKAGES = ("game", "pdn", "datasets", "models", "rl")
"""Packages with kernels, folders of the same place."""

_init = IndexDataCacheFile.__init__
_save, _load, _key = IndexDataCacheFile.save, IndexDataCacheFile.load, FunctionCache._index_key


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


@cache
def folder() -> Path | None:
    """Return the folder of the cached code of this package's functions; None if none can be written.

    Numba takes the first that it can write to: `NUMBA_CACHE_DIR`, `__pycache__` beside the source, the user's
    cache folder. The functions of `ckai.pdn` and the others have folders beside this one.
    """
    try:
        return Path(CompileResultCacheImpl(install).locator.get_cache_path())
    except RuntimeError:
        return None


def install(on_failure: Callable[[OSError], None]) -> None:
    """Lock the cache of every compiled function of this process.

    Args:
        on_failure: called with the error when a function cannot be saved, as on a full disk; the function
            runs all the same.
    """

    def save(self: Any, key: Any, data: Any) -> None:
        try:
            with _locked(self._cache_path, shared=False):
                _save(self, key, data)
        except OSError as error:
            on_failure(error)

    IndexDataCacheFile.__init__ = _init_with_all_kernels
    IndexDataCacheFile.save = save
    IndexDataCacheFile.load = _load_locked
    FunctionCache._index_key = _key_by_counting


def _init_with_all_kernels(self: Any, cache_path: Any, filename_base: Any, source_stamp: Any) -> None:
    _init(self, cache_path, filename_base, (source_stamp, kernels_digest(Path(__file__).parents[2])))


_IMPORTED = re.compile(rb"^from ckai\.([\w.]+) import", re.MULTILINE).findall


@cache
def kernels_digest(root: Path) -> str:
    """Return a hash of the modules with kernels and of those whose constants they import.

    Modules with kernels mention Numba or the decorators of `ckai.game.jit`.

    Args:
        root: the folder of `PACKAGES`.
    """
    sources, hashed = dict[Path, bytes](), set[Path]()
    for path in (path for package in PACKAGES for path in (root / package).rglob("*.py")):
        with suppress(OSError):
            sources[path] = path.read_bytes()
    for path, source in sources.items():
        if b"numba" in source or b"ckai.game.jit" in source:
            hashed |= {path, *(root / f"{name.decode().replace('.', '/')}.py" for name in _IMPORTED(source))}
    digest = hashlib.sha256()
    for path in sorted(hashed & sources.keys()):
        digest.update(sources[path])
    return digest.hexdigest()


def _load_locked(self: Any, key: Any) -> Any:
    with _locked(self._cache_path, shared=True):
        return _load(self, key)


def _key_by_counting(self: Any, signature: Any, codegen: Any) -> Any:
    """Return the key of an entry; those of functions without counting, see `recursive_kernel`, differ."""
    caller = ConfigStack.top_or_none()
    key = (*_key(self, signature, codegen), *sorted(set(_sources(getattr(signature, "args", signature)))))
    return key if caller is None or caller.nrt else (*key, "uncounted")


def _sources(types: Any) -> Iterator[str]:
    """Hashes of the files of the classes of named tuples and of what these import from their own folder.

    Those of this package are left out: Numba hashes the file of a function itself.
    """
    for each in types:
        of_class = getattr(each, "instance_class", None)
        if of_class is not None and not of_class.__module__.startswith("ckai."):
            yield from map(_hash_of, _files_of(of_class.__module__))
        if isinstance(each, BaseTuple):
            yield from _sources(each.types)


@cache
def _files_of(name: str) -> list[str]:
    """Return the files of a module and of the modules beside or below it whose names it uses, sorted."""
    files, waiting = dict[str, str](), [name]
    while waiting:
        module = sys.modules.get(waiting.pop())
        file = getattr(module, "__file__", None)
        if module is None or file is None or module.__name__ in files:
            continue
        if files and not Path(file).is_relative_to(Path(next(iter(files.values()))).parent):
            continue
        files[module.__name__] = file
        for value in vars(module).values():
            of = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(of, str):
                waiting.append(of)
    return sorted(files.values())


@cache
def _hash_of(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""
