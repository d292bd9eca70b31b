"""The decorators of kernels, which Numba compiles, and the folder where the compiled code is kept.

Python calls a `kernel`; kernels call what is `inner`, which is compiled into each of them. Numba looks at the
file of a kernel alone to tell whether its code is stale, but code of other modules is part of it. So the
folder is named after a digest of the sources of all kernels, and of the games that other packages register.
For rules that a program registers itself, set `NUMBA_CACHE_DIR` to a fresh folder after an edit.

When the first kernel is compiled a warning of the logger `ckai` says so.

After the decorators: what Numba lacks, which are arrays without counts of references, pointers, choices
without branches, and prefetching.
"""

import hashlib
import logging
import os
import re
import shutil
import tempfile
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from filelock import FileLock
from llvmlite import binding as llvm
from llvmlite import ir
from numba import config, njit, typeof, types
from numba.core import cgutils, event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.targetconfig import TargetConfig
from numba.core.typing.templates import infer_global
from numba.extending import intrinsic
from platformdirs import user_cache_path

ROOT = Path(__file__).parents[1]
"""The folder of the rooms."""
ROOMS = ("game", "pdn", "datasets", "models", "rl")
"""Rooms with kernels."""
KEPT = 4
"""Most folders of compiled code that are kept, those used last."""
_IMPORTED = re.compile(rb"^from ckai\.([\w.]+) import", re.MULTILINE).findall


def sources_digest(root: Path = ROOT) -> str:
    """Return a hash of the modules with kernels, those whose constants they import, and others' games."""
    sources = {path: path.read_bytes() for room in ROOMS for path in (root / room).rglob("*.py")}
    hashed = set[Path]()
    for path, source in sources.items():
        if any(text in source for text in (b"numba", b"ckai.game.jit", b"@implements")):
            hashed |= {path, *(root / f"{name.decode().replace('.', '/')}.py" for name in _IMPORTED(source))}
    digest = hashlib.sha256()
    for path in sorted(hashed & sources.keys()):
        digest.update(sources[path])
    for package in sorted(
        {entry.module.split(".")[0] for entry in entry_points(group="ckai.games")} - {"ckai"}
    ):
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            for path in sorted(Path(folder).rglob("*.py")):
                digest.update(f"{path} {path.stat().st_mtime_ns}".encode())
        if spec and spec.origin and os.path.isfile(spec.origin):
            digest.update(Path(spec.origin).read_bytes())
    return digest.hexdigest()[:16]


def _make_folder() -> Path | None:
    """Make the folder of compiled code, and remove the older ones; None if it cannot be written."""
    above = (
        Path(config.CACHE_DIR) / "ckai"
        if config.CACHE_DIR
        else user_cache_path("ckai", appauthor=False) / "kernels"
    )
    folder = above / sources_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
        os.utime(folder)
        older = sorted(above.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT]
    except OSError:
        return None
    for path in older:
        shutil.rmtree(path, ignore_errors=True)
    return folder


FOLDER = _make_folder()
"""The folder of compiled code; None: there is none, and every process compiles anew."""


def _values(options: Any) -> Any:
    return {name: option.default for name, option in options.options.items()} | options._values


# Numba compares all options of a function whenever it looks up the type of a call, property by property: a
# fourteenth of the time of compiling.
TargetConfig.values = _values


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """A compiled function that only kernels call: optimized and made machine code in them alone.

    Numba would do both for every function by itself, too, which took a fifth of the time.
    """

    _final_module: Any

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        whole = self._shared_module = self._final_module
        for function in whole.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = llvm.Linkage.linkonce_odr
        # Numba writes into the variable of each environment.
        names = (v.name for v in whole.global_variables if v.name.startswith("_ZN08NumbaEnv"))
        self._final_module = llvm.parse_assembly("".join(f"@{n} = common global i8* null\n" for n in names))
        super()._finalize_final_module()


class _PartCompiler(Compiler):  # type: ignore[misc]
    def define_pipelines(self) -> Any:
        state = self.state
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().define_pipelines()


INNER: dict[str, Any] = {
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "forceinline": False,
    "pipeline_class": _PartCompiler,
}
"""Options of a function that is compiled into its callers.

Dividing by zero gives an infinity or NaN, without a check before.
"""
HOT = INNER | {"forceinline": True}
"""Options of a function that is inlined at every call."""
KERNELS: list[Any] = []
"""All kernels."""


def inner(function: Any) -> Any:
    """Let kernels call a function; to Python it stays an ordinary function."""
    return _called_by_kernels(function, INNER)


def hot(function: Any) -> Any:
    """As `inner`, for what a search runs most: inlined at every call, where references need no counting."""
    return _called_by_kernels(function, HOT)


def _called_by_kernels(function: Any, options: dict[str, Any]) -> Any:
    """Let jitted code see a compiled function in place of a function.

    Numba's own `register_jitable` compiles it anew for each set of options of its callers.
    """
    # Numba's type refers to it weakly.
    function.compiled = _njit(function, no_cpython_wrapper=True, **options)
    template_of = function.compiled.get_call_template

    def of_any_value(args: Any, kws: Any) -> Any:  # not one more version for each constant that is given
        plain = {name: types.unliteral(kind) for name, kind in kws.items()}
        return template_of(tuple(map(types.unliteral, args)), plain)

    function.compiled.get_call_template = of_any_value
    infer_global(function, types.Dispatcher(function.compiled))
    return function


def kernel(function: Any) -> Any:
    """For functions that Python calls: other threads run meanwhile."""
    return _compiled(function, nogil=True)


def quick_kernel(function: Any) -> Any:
    """For functions that Python calls and that take a microsecond: releasing the interpreter costs more."""
    return _compiled(function, nogil=False)


def _compiled(function: Any, nogil: bool) -> Any:
    KERNELS.append(_njit(function, nogil=nogil, error_model="numpy", no_cfunc_wrapper=True))
    return KERNELS[-1]


def _njit(function: Any, **options: Any) -> Any:
    # Numba chooses the folder now; the functions of other packages keep theirs.
    before, config.CACHE_DIR = config.CACHE_DIR, str(FOLDER or "")
    # What is typed at a prompt is in no file, which Numba refuses to keep.
    kept = FOLDER is not None and Path(function.__code__.co_filename).is_file()
    try:
        return njit(cache=kept, **options)(function)
    finally:
        config.CACHE_DIR = before


def compile_for(function: Any, *arguments: Any) -> Any:
    """Return a kernel compiled for the types of arguments, without calling it.

    It skips the lookup of types, 8 us per call; arguments of other types go unnoticed.
    """
    return function.compile(tuple(typeof(argument) for argument in arguments))


class _Compilation(event.Listener):  # type: ignore[misc]
    """Reports that this process compiles, counts it, and lets one process at a time add to the folder.

    What comes from the cache does not count. Numba has an index of each kernel, from types to files, and adds
    to it with no lock: two processes that compile a kernel for different types at once could give both the
    same file. It saves a kernel after the end of "numba:compile" and before that of "numba:compiler_lock".

    Attributes:
        functions: number of functions of ckai compiled so far, those inside kernels included.
        seconds: compile time so far, of kernels and all that they call.
    """

    def __init__(self) -> None:
        self.functions, self.seconds = 0, 0.0
        self._depth, self._begun = 0, 0.0
        self._make_lock()
        if hasattr(os, "register_at_fork"):  # a child may not use the lock of its parent
            os.register_at_fork(after_in_child=self._make_lock)

    def _make_lock(self) -> None:
        self._lock = None if FOLDER is None else FileLock(FOLDER / "lock", timeout=60)

    def on_start(self, event: Any) -> None:
        if event.kind != "numba:compile":
            return
        # Numba compiles one kernel at a time, and the functions it calls within that.
        if self._depth == 0:
            self._begun = perf_counter()
        self._depth += 1
        if (event.data["dispatcher"].py_func.__module__ or "").startswith("ckai."):
            if self.functions == 0:
                once = "(only the first time) ..."
                again = "at every start: no cache folder can be written; set NUMBA_CACHE_DIR to one that can"
                when = again if FOLDER is None else once
                logging.getLogger("ckai").warning("compiling for this machine %s", when)
            self.functions += 1

    def on_end(self, event: Any) -> None:
        if event.kind != "numba:compile":
            if self._lock is not None and self._lock.is_locked:
                self._lock.release(force=True)
            return
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._begun
        if self._lock is not None:
            with suppress(OSError):  # a file system without locks, or a process that was stopped meanwhile
                self._lock.acquire()


compiled = _Compilation()
"""What this process compiled."""
event.register("numba:compile", compiled)
event.register("numba:compiler_lock", compiled)


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
