"""Compare the speed of ckai with py-draughts, pydraughts and OpenSpiel, installed from PyPI.

    python benchmarks/speed/compare.py                  # --keep FOLDER: reuse the environments

Each package gets its own virtual environment, as two have the same import name. Every figure is the median of
five rounds after a warm-up, on one thread, with the packages taking turns within a round.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PEERS = {"py-draughts": "py-draughts", "pydraughts": "pydraughts", "OpenSpiel": "open_spiel"}
SAMPLE = Path(__file__).parents[2] / "data" / "sample.pdn"
DEPTHS = {"ckai": 8, "py-draughts": 5, "pydraughts": 4, "OpenSpiel": 6}
PERFT, MCTS, PDN = "moves counted, nodes/s", "vanilla MCTS, simulations/s", "PDN, games/s"
Works = dict[str, Callable[[], float]]
"""Benchmarks of a package by name; each call does some work and returns its amount."""


def ckai_works() -> Works:
    """Return the benchmarks of ckai."""
    import numpy as np

    from ckai.datasets.convert import parse_files
    from ckai.game import Position, perft
    from ckai.rl.evaluators.rollout import RolloutEvaluator
    from ckai.rl.games.checkers import pack
    from ckai.rl.search.searcher import Searcher

    state = pack(Position.start())
    searcher = Searcher(RolloutEvaluator(), nodes=20_001)

    def search() -> float:
        searcher.set_root(0, state)
        searcher.run(np.array([20_000], np.int32))
        return 20_000

    def read() -> float:
        with tempfile.TemporaryDirectory() as folder:
            return parse_files([SAMPLE], Path(folder) / "rows.parquet").games_read

    return {
        PERFT: lambda: perft(Position.start(), DEPTHS["ckai"]),
        MCTS: search,
        PDN: read,
    }


def board_works(make: Callable[[], Any], moves: Callable[[Any], Any], depth: int) -> Works:
    """Return the benchmarks of a package whose boards push and pop moves."""

    def count(board: Any, depth: int) -> int:
        legal = list(moves(board))
        if depth == 1:
            return len(legal)
        total = 0
        for move in legal:
            board.push(move)
            total += count(board, depth - 1)
            board.pop()
        return total

    return {PERFT: lambda: count(make(), depth)}


def py_draughts_works() -> Works:
    """Return the benchmarks of py-draughts, pure Python."""
    from draughts import AmericanBoard

    return board_works(AmericanBoard, lambda b: b.legal_moves, DEPTHS["py-draughts"])


def pydraughts_works() -> Works:
    """Return the benchmarks of pydraughts, pure Python with a PDN reader."""
    import draughts
    from draughts.PDN import PDNReader

    def read() -> float:
        return len(PDNReader(filename=str(SAMPLE)).games)

    make = lambda: draughts.Board(variant="english")  # noqa: E731
    works = board_works(make, lambda b: b.legal_moves(), DEPTHS["pydraughts"])
    return {**works, PDN: read}


def openspiel_works() -> Works:
    """Return the benchmarks of OpenSpiel, C++ with Python bindings; a move is one hop."""
    import numpy as np
    import pyspiel
    from open_spiel.python.algorithms import mcts

    game = pyspiel.load_game("checkers")

    def count(state: Any, depth: int) -> int:
        if depth == 0:
            return 1
        return sum(count(state.child(action), depth - 1) for action in state.legal_actions())

    evaluator = pyspiel.RandomRolloutEvaluator(1, 1)
    fast = pyspiel.MCTSBot(game, evaluator, 2.0, 2000, 1000, True, 1, False)
    slow = mcts.MCTSBot(game, 2.0, 200, mcts.RandomRolloutEvaluator(1, np.random.RandomState(1)))

    def search(bot: Any, sims: int) -> float:
        bot.step(game.new_initial_state())
        return sims

    return {
        PERFT: lambda: count(game.new_initial_state(), DEPTHS["OpenSpiel"]),
        MCTS: lambda: search(fast, 2000),
        f"{MCTS} (its Python)": lambda: search(slow, 200),
    }


WORKS = {
    "ckai": ckai_works,
    "py-draughts": py_draughts_works,
    "pydraughts": pydraughts_works,
    "OpenSpiel": openspiel_works,
}


def serve(package: str, seconds: float) -> None:
    """Measure one round for every line on standard input, in the environment of a package."""
    works = WORKS[package]()
    for work in works.values():
        work()
    for _ in sys.stdin:
        rates = {}
        for name, work in works.items():
            begun, done = time.perf_counter(), 0.0
            while (spent := time.perf_counter() - begun) < seconds:
                done += work()
            rates[name] = done / spent
        print(json.dumps(rates), flush=True)


def environment(folder: Path, requirement: str) -> Path:
    """Return the interpreter of a package's environment, creating it if missing."""
    python = folder / requirement / "bin" / "python"
    if not python.exists():
        print(f"installing {requirement} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(folder / requirement)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", requirement], check=True)
    return python


def compare(folder: Path, rounds: int, seconds: float) -> dict[str, dict[str, list[float]]]:
    """Measure all packages in turns; return the rates by package and benchmark."""
    pythons = {"ckai": Path(sys.executable)}
    for package, requirement in PEERS.items():
        try:
            pythons[package] = environment(folder, requirement)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{package}: cannot be installed here ({error})", file=sys.stderr)
    rates_of: dict[str, dict[str, list[float]]] = {package: {} for package in pythons}
    servers = {
        package: subprocess.Popen(
            [str(python), __file__, "--serve", package, "--seconds", str(seconds)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for package, python in pythons.items()
    }  # fmt: skip
    for _ in range(rounds):
        for package, server in servers.items():
            if server.poll() is not None or server.stdin is None or server.stdout is None:
                continue  # the reason is on standard error
            print("round", file=server.stdin, flush=True)
            for name, rate in json.loads(server.stdout.readline() or "{}").items():
                rates_of[package].setdefault(name, []).append(rate)
    for server in servers.values():
        server.communicate()
    return rates_of


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="folder for the environments, to reuse them"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of each measurement")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.seconds)
        return
    with tempfile.TemporaryDirectory() as temporary:
        rates_of = compare(options.keep or Path(temporary), options.rounds, options.seconds)
    medians = {p: {name: statistics.median(rates) for name, rates in f.items()} for p, f in rates_of.items()}
    if options.json:
        print(json.dumps(medians))
        return
    print(f"{'':44}{'':14}{'median':>14}  {'ckai is':>10}")
    for package, measures in medians.items():
        for name, rate in measures.items():
            times = medians["ckai"][name.removesuffix(" (its Python)")] / rate
            print(f"{name:44}{package:14}{rate:14,.0f}  {f'{times:,.1f} x' if package != 'ckai' else '':>10}")


if __name__ == "__main__":
    main()
