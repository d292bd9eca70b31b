"""Compiling: once, before any time limit, and outside every figure of speed."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = Path(__file__).parent.parent / "support" / "count_compiled.py"
SAMPLE = Path(__file__).parent.parent.parent / "data" / "sample.pdn"
EXEMPT = {"count_moves", "write_legal", "index_of", "place", "jump_paths", "_spread", "negamax"} | {
    "rank_position", "unrank_position", "_unrank",
}  # fmt: skip
"""Kernels that only tests, benchmarks and other kernels call; with a full cache they are not loaded."""
NEW = ("--init", "none", "--set", "hidden=16")
SMALL = ("--generations", "1", "--games", "4", "--sims", "4", "--gate-games", "2", "--evaluator", "torch")


def run(folder, cache, *arguments, env=()):
    """Run a command, or code, in `folder`; return the process and the names of what was compiled."""
    done = subprocess.run(
        [sys.executable, COUNT, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), "CKAI_CACHE": str(cache / "tables"), **dict(env)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    report = done.stderr.splitlines()[-1].split()
    assert report[0] == "compiled:"
    return done, report[2:]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """An empty cache."""
    return tmp_path_factory.mktemp("cache")


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.programs
def test_a_search_compiles_nothing(tmp_path):
    """Neither a search by time nor any other call of an engine; integers as constants neither."""
    code = (
        "from ckai.rl import Engine, Limit\n"
        "from ckai.rl.search.selection import SearchConstants\n"
        "for source, constants in (('uniform', SearchConstants(c_init=2)), ('rollout', None)):\n"
        "    with Engine.load(source, constants=constants, tables=3) as engine:\n"
        "        before = compiled()\n"
        "        engine.search('B:W21-32:B1-12', seconds=0.05)\n"
        "        engine.search('W:W21-32:B1-10,12,15', Limit(depth=2), history=['B:W21-32:B1-12'])\n"
        "        engine.search('W:WK18,K15:BK4', sims=50, lines=3)\n"
        "        assert compiled() == before, set(compiled()) - set(before)\n"
    )
    done, names = run(tmp_path, tmp_path / "cache", "-c", code)
    assert names
    lines = done.stderr.splitlines()
    assert lines[0].startswith("compiling for this machine")
    assert len(lines) == 2
    done, names = run(tmp_path, tmp_path / "cache", "-c", code)
    assert names == []
    assert len(done.stderr.splitlines()) == 1, "nothing is said when the cache has everything"


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.programs
def test_after_warmup_no_command_compiles(tmp_path, fresh):
    done, names = run(tmp_path, fresh, "warmup", "--json")
    first = json.loads(done.stdout)
    assert first["functions"] > 100
    assert Path(first["folder"]).is_relative_to(fresh)
    done, names = run(tmp_path, fresh, "warmup")
    assert names == []
    assert done.stdout.startswith("everything is compiled already")

    network = ("--epochs", "1", "--set", "channels=8", "--set", "hidden=16")
    (tmp_path / "games.pdn").write_text("1. 11-15 22-18 2. 15x22 25x18 *\n")
    for command in (
        ("perft", "--depth", "5"),
        ("parse", SAMPLE, "-o", "data/sample.parquet"),
        ("stats", "data/sample.parquet"),
        ("pretrain", *network),
        ("evaluate", "pretrained.ckpt", "--data", "data/sample.parquet"),
        ("export", "pretrained.ckpt", "-o", "network.onnx"),
        ("selfplay", "--init", "pretrained.ckpt", "--run", "runs/a", *SMALL),
        ("selfplay", "--init", "pretrained.ckpt", "--run", "runs/b", *SMALL, "--root-rule", "gumbel"),
        ("selfplay", "--init", "pretrained.ckpt", "--run", "runs/c", *SMALL,
         "--setting", "selfplay.full_search_prob=0.5"),
        ("selfplay", "--init", "pretrained.ckpt", "--run", "runs/d", *SMALL, "--resign", "0.9"),
        ("selfplay", *NEW, "--game", "connect4", "--run", "runs/f", *SMALL),
        ("selfplay", *NEW, "--game", "tictactoe", "--run", "runs/g", *SMALL),
        ("play", "--engine", "pretrained.ckpt", "--side", "none", "--seconds", "0.02", "--max-plies", "6"),
        ("play", "--engine", "rollout", "--side", "none", "--sims", "20", "--max-plies", "6"),
        ("analyze", "games.pdn", "--engine", "pretrained.ckpt", "--visits", "20"),
        ("analyze", "games.pdn", "--engine", "rollout", "--visits", "20", "-o", "b.pdn"),
        ("match", "pretrained.ckpt@0.01s", "rollout@20", "--games", "2"),
        ("match", "pretrained.ckpt@8", "random", "alphabeta@2", "rollout@20", "--games", "2"),
        ("tables", "build", "--pieces", "3", "--folder", "tables"),
        ("tables", "probe", "B:WK32:BK1,K5"),
        ("tables", "rows", "--pieces", "3", "--positions", "50", "-o", "ends.parquet"),
        ("bench", "rules", "parse", "tree", "games", "search", "--set", "hidden=16", "--evaluator", "torch"),
    ):  # fmt: skip
        _, names = run(tmp_path, fresh, *command)
        assert names == [], command


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_warmup_calls_every_kernel():
    """A new kernel needs a place in `ckai.rl.warmup`, or is called by kernels alone: then it is `inner`."""
    import ckai.cli
    import ckai.rl
    from ckai.game.jit import KERNELS
    from ckai.rl.warmup import warm_up

    for package in (ckai.cli, ckai.rl):  # warming up need not import what others call
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    warm_up()
    ours = [kernel for kernel in KERNELS if kernel.py_func.__module__.startswith("ckai.")]
    missing = {kernel.py_func.__name__ for kernel in ours if not kernel.overloads}
    assert missing - EXEMPT == set()


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.programs
def test_figures_of_speed_leave_compiling_out(tmp_path):
    """With an empty cache every timed part of `ckai bench` runs what is compiled."""
    code = (
        "import time\n"
        "from pathlib import Path\n"
        "from ckai.rl import bench\n"
        "from ckai.rl.evaluators.uniform import UniformEvaluator\n"
        "clock, readings = time.perf_counter, []\n"
        "def read():\n"
        "    readings.append(len(compiled()))\n"
        "    return clock()\n"
        "bench.time.perf_counter = read\n"
        "def check(part, measures):\n"
        "    readings.clear()\n"
        "    list(measures)\n"
        "    timed = readings[:]\n"
        "    assert timed and timed[0] == timed[-1], (part, timed)\n"
        "check('rules', bench.bench_rules(1))\n"
        "check('parse', bench.bench_parse(1, Path()))\n"
        "check('games', bench.bench_games(UniformEvaluator(), sims=4, games=4, in_flight=4))\n"
        "check('tree', bench.bench_tree(1, 0.1, sims=4, in_flight=4))\n"
    )
    run(tmp_path, tmp_path / "cache", "-c", code)
