"""The cache of compiled kernels: what makes its code stale, and several processes that write it at once."""

import os
import subprocess
import sys

import pytest

from ckai.game import jit

AT_ONCE = """
import sys, time
from numba.core.caching import IndexDataCacheFile
from ckai.game.jit import kernel

@kernel
def twice(x):
    return x + x

read = IndexDataCacheFile._load_index
def slow(self):
    index = read(self)
    time.sleep(0.2)
    return index
IndexDataCacheFile._load_index = slow
print(twice(eval(sys.argv[1])))
"""
"""Calls a kernel; time passes between reading the index and writing it."""


@pytest.mark.slow
def test_kernels_saved_at_once_are_all_kept_apart(tmp_path):
    (tmp_path / "at_once.py").write_text(AT_ONCE)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def answers(*arguments):
        command = [sys.executable, str(tmp_path / "at_once.py")]
        running = [
            subprocess.Popen([*command, each], env=environment, stdout=subprocess.PIPE, text=True)
            for each in arguments
        ]
        return [process.communicate()[0].strip() for process in running]

    values = ["3", "1.5", "2j"]
    expected = ["6", "3.0", "4j"]
    assert answers(*values) == expected
    assert answers(*values) == expected
    [index] = (tmp_path / "cache").rglob("*.nbi")
    assert len(list(index.parent.glob("*.nbc"))) == 3


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_compiles(tmp_path):
    (tmp_path / "forked.py").write_text(
        "import os\nfrom ckai.game.jit import kernel\n"
        "twice = kernel(lambda x: x + x)\n"
        "print(twice(3), flush=True)\n"
        "child = os.fork()\n"
        "print(twice(1.5) if child == 0 else os.waitpid(child, 0)[1], flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "forked.py")],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["6", "3.0", "0"], done.stderr


def test_kernels_are_compiled_again_when_one_that_they_may_call_changes(tmp_path):
    """Numba itself looks at the module of the kernel alone, but code of others is part of it."""
    (tmp_path / "rl" / "search").mkdir(parents=True)
    called = tmp_path / "rl" / "search" / "selection.py"
    digests = []
    for source in ("from ckai.game.jit import inner\n", "from ckai.game.jit import kernel\n", "1\n", "2\n"):
        called.write_text(source)
        digests.append(jit.sources_digest(tmp_path))
    assert len(set(digests)) == 3
    assert digests[2] == digests[3]  # no kernels
    (tmp_path / "rl" / "search" / "kernel.py").write_text(
        "from ckai.game.jit import inner\nfrom ckai.rl.search.selection import LIMIT\n"
    )
    for source in ("LIMIT = 1\n", "LIMIT = 2\n"):  # a constant that is compiled into the kernel
        called.write_text(source)
        digests.append(jit.sources_digest(tmp_path))
    assert len(set(digests)) == 5


def test_the_code_of_older_sources_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(jit.config, "CACHE_DIR", str(tmp_path))
    for n in range(6):
        old = tmp_path / "ckai" / f"old-{n}"
        old.mkdir(parents=True)
        os.utime(old, (n, n))
    made = jit._make_folder()
    assert {path.name for path in (tmp_path / "ckai").iterdir()} == {made.name, "old-3", "old-4", "old-5"}


@pytest.mark.slow
@pytest.mark.programs
def test_without_a_cache_folder_kernels_run_uncached(tmp_path):
    script = "from ckai.game import Position\nprint(len(Position.start().legal_moves()))\n"
    (tmp_path / "file").touch()
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "7\n"
    assert run.stderr.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in run.stderr
