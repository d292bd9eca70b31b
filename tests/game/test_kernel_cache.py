"""Numba's cache on disk, written by several at once."""

import importlib
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from numba import typeof
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from numba.core.compiler import Flags
from numba.core.targetconfig import ConfigStack

from ckai.game import compiling, kernels
from ckai.game.compiler import kernel_cache
from ckai.rl.games.registry import DEFAULT_GAME


def cache_file(folder):
    return IndexDataCacheFile(str(folder), "kernel-1.py3", "stamp")


@pytest.fixture
def slow_index(monkeypatch):
    """Time passes between reading an index and writing it."""
    read = IndexDataCacheFile._load_index

    def slow(self):
        index = read(self)
        time.sleep(0.05)
        return index

    monkeypatch.setattr(IndexDataCacheFile, "_load_index", slow)


def save_at_once(folder, keys):
    threads = [threading.Thread(target=cache_file(folder).save, args=(key, key.upper())) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_versions_saved_at_once_are_all_kept_apart(tmp_path, slow_index):
    keys = ["int64", "float64", "bool", "int32"]
    save_at_once(tmp_path, keys)
    assert [cache_file(tmp_path).load(key) for key in keys] == [key.upper() for key in keys]


def test_without_the_lock_one_would_be_taken_for_another(tmp_path, slow_index, monkeypatch):
    """The test above can fail: this is what Numba alone does."""
    monkeypatch.setattr(IndexDataCacheFile, "save", kernel_cache._save)
    keys = ["int64", "float64", "bool", "int32"]
    save_at_once(tmp_path, keys)
    assert [cache_file(tmp_path).load(key) for key in keys] != [key.upper() for key in keys]


def test_a_missing_folder_is_an_empty_cache(tmp_path):
    assert cache_file(tmp_path / "none").load("int64") is None
    assert not (tmp_path / "none").exists()


def test_the_kernels_lock_their_cache():
    assert kernels.resolve.func._cache._cache_file.save.__func__ is not kernel_cache._save
    assert IndexDataCacheFile.load is kernel_cache._load_locked


def test_code_that_cannot_be_saved_is_reported_and_used(tmp_path, monkeypatch):
    def full(self, name, data):
        raise OSError(28, "No space left on device")

    said = []
    monkeypatch.setattr(IndexDataCacheFile, "_save_data", full)
    monkeypatch.setattr(compiling, "_unsaved", False)
    monkeypatch.setattr(compiling, "_report", said.append)
    for key in ("int64", "float64"):
        cache_file(tmp_path).save(key, "code")
    assert len(said) == 1
    assert "No space left" in said[0]
    assert "NUMBA_CACHE_DIR" in said[0]


def test_a_kernel_is_compiled_again_when_the_rules_of_a_users_game_change(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    keys = []
    for value in ("1", "2", "1"):
        (tmp_path / "rules_of_mine.py").write_text(
            f"from typing import NamedTuple\nclass Mine(NamedTuple):\n    limit: int = {value}\n"
        )
        kernel_cache._hash_of.cache_clear()  # as in a new process
        kernel_cache._files_of.cache_clear()
        monkeypatch.delitem(sys.modules, "rules_of_mine", raising=False)
        importlib.invalidate_caches()
        mine = importlib.import_module("rules_of_mine").Mine
        keys.append(tuple(kernel_cache._sources((typeof((1, mine())), typeof(1)))))
    assert keys[0] == keys[2] != keys[1]
    assert len(keys[0]) == 1
    assert not tuple(kernel_cache._sources((typeof(DEFAULT_GAME.rules),)))


def test_the_rules_of_a_users_game_may_stand_in_several_files(tmp_path, monkeypatch):
    package = tmp_path / "mine_in_parts"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "constants.py").write_text("SIZE = 5\n")
    (package / "helper.py").write_text("from mine_in_parts import constants\ndef f(): return 1\n")
    (package / "rules.py").write_text(
        "import json\nfrom typing import NamedTuple\nfrom mine_in_parts.helper import f\n"
        "class Mine(NamedTuple):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("mine_in_parts.rules")
    files = kernel_cache._files_of("mine_in_parts.rules")
    assert [Path(file).name for file in files] == ["constants.py", "helper.py", "rules.py"]


def test_kernels_are_compiled_again_when_one_that_they_may_call_changes(tmp_path):
    """Numba itself looks at the module of the kernel alone, but code of others is inlined into it."""
    (tmp_path / "rl" / "search").mkdir(parents=True)
    called = tmp_path / "rl" / "search" / "selection.py"
    digests = []
    for source in (
        "from ckai.game.jit import hot\n",
        "from ckai.game.jit import inner\n",
        "print(1)\n",
        "print(2)\n",
    ):
        called.write_text(source)
        kernel_cache.kernels_digest.cache_clear()  # as in a new process
        digests.append(kernel_cache.kernels_digest(tmp_path))
    assert len(set(digests)) == 3
    assert digests[2] == digests[3]  # no kernels
    (tmp_path / "rl" / "search" / "kernel.py").write_text(
        "from ckai.game.jit import hot\nfrom ckai.rl.search.selection import LIMIT\n"
    )
    for source in ("LIMIT = 1\n", "LIMIT = 2\n"):  # a constant that is compiled into the kernel
        called.write_text(source)
        kernel_cache.kernels_digest.cache_clear()
        digests.append(kernel_cache.kernels_digest(tmp_path))
    assert len(set(digests)) == 5
    stamp = kernels.resolve.func._cache._cache_file._source_stamp
    kernel_cache.kernels_digest.cache_clear()
    assert stamp[1] == kernel_cache.kernels_digest(Path(kernel_cache.__file__).parents[2])


@pytest.mark.slow
def test_without_a_cache_folder_kernels_run_uncached():
    """As where neither the home folder, nor the package, nor `NUMBA_CACHE_DIR` can be written."""
    script = (
        "from numba.core.caching import CacheImpl\n"
        "CacheImpl._locator_classes = []\n"
        "from ckai.cli.shared.output import report_compilation\n"
        "report_compilation()\n"
        "from ckai.game import Position\n"
        "print(len(Position.start().legal_moves()))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout == "7\n"
    assert run.stderr.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in run.stderr


def test_the_folder_named_is_beside_that_of_the_kernels():
    kept = Path(kernels.resolve.func._cache._impl.locator.get_cache_path())
    folder = kernel_cache.folder()
    assert kept in (folder.parent.parent / kept.name, folder.parent / kept.name)


def test_the_time_of_compiling_counts_what_is_called_once(monkeypatch):
    clock = iter((10.0, 17.0, 20.0, 22.0))
    monkeypatch.setattr(compiling, "perf_counter", lambda: next(clock))
    data = {"dispatcher": kernels.resolve.func}
    with compiling.count_compiled() as compiled:
        with event.trigger_event("numba:compile", data=data), event.trigger_event("numba:compile", data=data):
            pass
        assert compiled.seconds == 7
        with event.trigger_event("numba:compile", data=data):
            pass
    assert (compiled.functions, compiled.seconds) == (3, 9)


def test_functions_compiled_without_counting_have_entries_of_their_own():
    function = kernels.resolve.func

    def key(counted):
        flags = Flags()
        flags.nrt = counted
        with ConfigStack().enter(flags):
            return function._cache._index_key((), function.targetctx.codegen())

    assert key(True) == function._cache._index_key((), function.targetctx.codegen())
    assert key(True) != key(False)
