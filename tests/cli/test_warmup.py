"""Compiling: once, before any time limit, and outside every figure of speed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = Path(__file__).parent.parent / "support" / "count_compiled.py"
SAMPLE = Path(__file__).parent.parent.parent / "data" / "sample.pdn"
EXEMPT = {
    "write_legal", "index_of", "place", "_spread", "negamax", "playouts", "rank_position", "unrank_position",
    "_unrank",
}  # fmt: skip
"""Kernels that only tests, benchmarks and other kernels call; with a full cache they are not loaded."""
TIMED = """
import time
from pathlib import Path
from ckai.models.encodings import PlanesEncoding
from ckai.rl import Engine, Limit, bench
from ckai.rl.evaluators.rollout import UniformEvaluator

for source in ("uniform", "rollout", "alphabeta:ckai"):
    with Engine.load(source, tables=3) as engine:
        before = compiled()
        engine.search("B:W21-32:B1-12", seconds=0.05)
        engine.search("W:W21-32:B1-10,12,15", Limit(seconds=0.02), history=["B:W21-32:B1-12"])
        engine.search("W:WK18,K15:BK4", seconds=0.02, lines=3)
        assert compiled() == before, set(compiled()) - set(before)
readings = []
class Clock:
    def __getattr__(self, name):
        readings.append(len(compiled()))
        return getattr(time, name)
bench.time = Clock()
settings = {"sims": 4, "in_flight": 4, "rounds": 1, "seconds": 0.1}
list(bench.bench_selfplay(UniformEvaluator(), PlanesEncoding(), **settings))
assert readings and readings[0] == readings[-1], readings
"""
"""Neither a search by time nor any other call of an engine compiles, nor what `ckai bench` times."""
KERNELS = """
import importlib, pkgutil
import ckai.cli, ckai.rl
from ckai.game.jit import KERNELS
from ckai.rl.warmup import warm_up

for package in (ckai.cli, ckai.rl):  # warming up need not import what others call
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)
warm_up()
ours = [kernel for kernel in KERNELS if kernel.py_func.__module__.startswith("ckai.")]
print(*(kernel.py_func.__name__ for kernel in ours if not kernel.overloads))
"""
SMALL = ("--generations", "1", "--games", "4", "--sims", "4", "--gate-games", "2", "--evaluator", "torch")
NEW = ("--init", "none", "--set", "hidden=16", *SMALL)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.programs
def test_warmup_compiles_all_and_nothing_is_compiled_where_time_counts(tmp_path):
    def run(*arguments):
        """Run a command, or code; return the process and the names of what was compiled."""
        places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "CKAI_CACHE": str(tmp_path / "tables")}
        words = [sys.executable, COUNT, *map(str, arguments)]
        done = subprocess.run(words, cwd=tmp_path, env=os.environ | places, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        report = done.stderr.splitlines()[-1].split()
        assert report[0] == "compiled:"
        return done, report[2:]

    done, names = run("-c", TIMED)  # with an empty cache
    assert names
    assert len(done.stderr.splitlines()) == 2
    assert done.stderr.startswith("compiling for this machine")
    first = run("warmup")[0].stdout
    assert re.match(rf"\d+ functions compiled in \d+ s; cache: {re.escape(str(tmp_path / 'cache'))}", first)
    done, names = run("warmup")
    assert (names, done.stdout.startswith("everything is compiled already")) == ([], True)
    done, names = run("-c", TIMED)
    assert (names, len(done.stderr.splitlines())) == ([], 1), "nothing is said when the cache has everything"
    # A new kernel needs a place in `ckai.rl.warmup`, or is called by kernels alone: then it is `inner`.
    assert set(run("-c", KERNELS)[0].stdout.split()) - EXEMPT == set()

    (tmp_path / "games.pdn").write_text("1. 11-15 22-18 2. 15x22 25x18 *\n")
    for command in (
        ("perft", "--depth", "5"),
        ("parse", SAMPLE, "-o", "data/sample.parquet"),
        ("games", "data/sample.parquet", "--stats"),
        ("pretrain", "--epochs", "1", "--set", "channels=8", "--set", "hidden=16"),
        ("evaluate", "pretrained.ckpt", "--data", "data/sample.parquet"),
        ("export", "pretrained.ckpt", "-o", "network.onnx"),
        ("selfplay", "--init", "pretrained.ckpt", "--run", "runs/a", *SMALL),
        ("selfplay", "--init", "pretrained.ckpt", "--run", "runs/c", *SMALL,
         "--setting", "selfplay.resign=0.9"),
        ("selfplay", *NEW, "--game", "connect4", "--run", "runs/f"),
        ("selfplay", *NEW, "--game", "tictactoe", "--run", "runs/g"),
        ("play", "--engine", "pretrained.ckpt@0.01s", "--side", "none", "--fen", "B:W31:B1,2"),
        ("analyze", "games.pdn", "--engine", "pretrained.ckpt", "--visits", "20"),
        ("analyze", "games.pdn", "--engine", "rollout", "--visits", "20", "-o", "b.pdn"),
        ("match", "pretrained.ckpt@0.01s", "random", "alphabeta@2", "rollout@20", "--games", "2"),
        ("tables", "build", "--pieces", "3"),
        ("tables", "probe", "B:WK32:BK1,K5"),
    ):  # fmt: skip
        assert run(*command)[1] == [], command
