"""Where kernels are compiled to, threads, and the fixtures of all tests.

Kernels go into a cache of the tests' own, named after the sources: Numba's cache does not notice an edit in a
function that a cached one calls, and games that only tests know must not end up in the cache of the user. The
first process names it; the workers of pytest-xdist and the programs that tests start inherit it.
"""

import atexit
import gc
import hashlib
import logging
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import pytest
from blank_figure import BlankFigure
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
SEARCHING = (
    "test_analyze",
    "test_board",
    "test_cuda",
    "test_mcp",
    "test_opponents",
    "test_solve",
    "test_selfplay",
    "test_bench",
)
"""Files outside of `rl` that search."""
ROOMS = ("game", "pdn", "datasets", "models", "rl", "cli", "tests")


def _fresh_cache() -> None:
    digest = hashlib.sha256()
    for path in sorted(p for room in ROOMS for p in (ROOT / room).rglob("*.py")):
        digest.update(path.read_bytes())
    caches = ROOT / ".pytest_cache" / "numba"
    mine = caches / digest.hexdigest()[:16]
    if caches.is_dir():
        for old in caches.iterdir():
            # Another run of the tests may be using it: only what is old goes.
            if old != mine and time.time() - old.stat().st_mtime > 86_400:
                shutil.rmtree(old, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(mine)


if "NUMBA_CACHE_DIR" not in os.environ:
    _fresh_cache()
if "PYTEST_XDIST_WORKER" not in os.environ:  # neither read nor write what the user has built and measured
    _cache = tempfile.TemporaryDirectory(prefix="ckai-tests-")
    os.environ["CKAI_CACHE"] = _cache.name
else:
    import compile_once

    compile_once.install()
    # Registered first, so called last: taking apart all that was compiled and loaded takes seconds.
    atexit.register(os._exit, 0)
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # a shell that started the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The workers share the cores; one thread each, set before torch is imported, and inherited by programs.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# No test depends on how long an example takes: the first may compile, and machines are busy.
settings.register_profile(
    "untimed", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("untimed")
# Most of what is collected is for nothing: imports stay, and tests leave few cycles.
gc.set_threshold(300_000, 10, 10)
os.environ["CKAI_EVALUATOR"] = "torch"  # what `auto` would choose depends on the machine


def pytest_addoption(parser):
    parser.addoption("--part", help="run a part of the tests, such as 1/6: every sixth from the first")


@pytest.hookimpl(trylast=True)  # of what is left of the tests after `-m` and `-k`
def pytest_collection_modifyitems(config, items):
    """Put tests that search first, and those that start programs of ckai last.

    The first worker begins with the former and compiles; the second begins with networks, which need few
    kernels: two that need the same ones wait for each other. The programs find all compiled.
    """

    def place(item):
        room, name = item.path.parts[len(ROOT.parts) + 1 :][0], item.path.stem
        searches = room == "rl" or name.startswith(SEARCHING)
        return item.get_closest_marker("programs") is not None, not searches, room != "models"

    items.sort(key=place)
    if config.getoption("part"):
        part, parts = map(int, config.getoption("part").split("/"))
        chosen = items[part - 1 :: parts]
        config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
        items[:] = chosen


def pytest_collection_finish():
    """Leave what was imported to none of the collections to come; each would look at all of it."""
    gc.freeze()


@pytest.fixture
def logged():
    """What the program logs, as messages; pytest's own plugin is off, see pyproject.toml."""
    messages, handler = [], logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logging.getLogger("ckai").addHandler(handler)
    yield messages
    logging.getLogger("ckai").removeHandler(handler)


@pytest.fixture(autouse=True)
def _one_torch_thread():
    """Whatever the test before asked for."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk():
    """What a test wrote need not outlive a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_figures():
    """Draw no figure, which takes half a second each; a test marked `draws` does."""
    import matplotlib.figure
    import matplotlib.pyplot  # before the blank figure: it looks at the real one when it is imported

    real = matplotlib.figure.Figure
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matplotlib.figure, "Figure", BlankFigure)
        yield real


@pytest.fixture(autouse=True)
def _figures(request, monkeypatch, _no_figures):
    if request.node.get_closest_marker("draws") is not None:
        monkeypatch.setattr("matplotlib.figure.Figure", _no_figures)


@pytest.fixture
def ckai(monkeypatch, capsys):
    """Run a command in this process as from a shell: exit status, standard output, standard error."""
    from ckai.cli.main import main

    def run(*arguments):
        monkeypatch.setattr("sys.argv", ["ckai", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return run
