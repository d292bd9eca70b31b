"""What a visit of self-play costs apart from the network: microseconds on one thread, by number of games.

    python benchmarks/speed/tree_cost.py
    python benchmarks/speed/tree_cost.py --against ../before --rounds 7

Games of self-play with an evaluator whose logits and values are hashes of the position. Its time does not
count; what is left is selection, legal actions, encoding, priors, backup, playing and recording. With many
games their trees do not fit the caches. Between two batches the evaluator also reads `--evict` MiB, as the
weights and activations of a network would, so that with one game the trees are not in the caches either.

`--against` compares with another checkout, in processes that alternate. The rows of finished games are
hashed: equal hashes mean equal games.
"""

import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import numpy as np
from numba import njit
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]


@njit(cache=True)  # type: ignore[untyped-decorator]
def hash_evaluate(boards: Any, logits: Any, values: Any) -> None:
    """Fill logits in [-3, 3) and values in [-0.5, 0.5) with hashes of the boards."""
    scale = 1.0 / 2.0**24
    for row in range(len(boards)):
        h = np.uint64(1469598103934665603)
        for i in range(boards.shape[1]):
            h = (h ^ np.uint64(np.uint8(boards[row, i]))) * np.uint64(1099511628211)
        values[row] = np.float32((h >> np.uint64(40)) * scale - 0.5)
        for action in range(logits.shape[1]):
            h = (h ^ (h >> np.uint64(29)) ^ np.uint64(action)) * np.uint64(1099511628211)
            logits[row, action] = np.float32((h >> np.uint64(40)) * scale * 6.0 - 3.0)


class HashEvaluator:
    """An evaluator that costs little, and counts its own time."""

    name = "hash"

    def __init__(self, evict: int) -> None:
        """Allocate what is read between two batches: `evict` MiB."""
        self.memory = np.zeros(evict << 17, np.int64)
        self.seconds = 0.0

    def evaluate(self, boards: Any, out_logits: Any = None, out_values: Any = None) -> tuple[Any, Any]:
        """See `ckai.models.inference.evaluator.Evaluator.evaluate`."""
        begun = time.thread_time()
        hash_evaluate(boards, out_logits, out_values)
        self.memory.sum()
        self.seconds += time.thread_time() - begun
        return out_logits, out_values

    def close(self) -> None:
        """Do nothing: there are no resources to free."""


def measure(
    game_name: str, games: int, sims: int, evict: int, seconds: float, counted: int
) -> dict[str, Any]:
    """Return the cost of a visit in microseconds, in the kernel and with its Python, and a hash of rows.

    Args:
        game_name: the game.
        games: games at the same time.
        sims: visits per move.
        evict: MiB to read between two batches.
        seconds: least CPU time of the measurement, without the evaluator.
        counted: games whose rows are hashed, by number; 0: none, and only the time ends the measurement.
    """
    from ckai.datasets.tables import Tables
    from ckai.rl.games.registry import get_game
    from ckai.rl.loop.config import RunConfig
    from ckai.rl.selfplay import group as groups
    from ckai.rl.selfplay.progress import SelfPlayCounts

    caller: Any = groups
    with suppress(ImportError):  # an earlier checkout, whose groups call the kernel themselves
        from ckai.rl.selfplay import searches as caller
    evaluator, progress, rows = HashEvaluator(evict), SelfPlayCounts(), {}
    kernel_seconds = 0.0

    def timed(kernel: Any) -> Any:
        def call(*arguments: Any) -> Any:
            nonlocal kernel_seconds
            begun = time.thread_time()
            result = kernel(*arguments)
            kernel_seconds += time.thread_time() - begun
            return result

        return call

    def finish(game: Any) -> None:
        if game.number < counted:
            rows[game.number] = repr((game.rows.tolist(), game.counts.tolist())).encode()

    spec = get_game(game_name)
    defaults = RunConfig.defaults_for(game_name).selfplay
    config = replace(defaults, sims=sims, in_flight=games, groups=1)
    if hasattr(config, "random_symmetries"):  # an earlier checkout, which may turn the board
        config = replace(config, random_symmetries=False)
    tables = Tables.open(config.tables) if config.tables else None
    group = groups.Group(
        evaluator, config, spec, None, tables, list(range(10**5)), 0, lambda _: spec.position(), {}
    )
    if compile_for := getattr(caller, "compile_for", None):
        watch = patch.object(caller, "compile_for", lambda *arguments: timed(compile_for(*arguments)))
    else:  # an earlier checkout, which calls the kernel itself
        watch = patch.object(caller, "advance", timed(caller.advance))
    with watch:
        begun = 0.0
        while progress.simulations < 40 * sims * games:  # the trees are warm, the games spread out
            group.step(finish, progress)
        first, evaluator.seconds, kernel_seconds = progress.simulations, 0.0, 0.0
        begun = time.thread_time()
        while kernel_seconds < seconds or len(rows) < counted:
            group.step(finish, progress)
        spent = time.thread_time() - begun - evaluator.seconds
    visits = progress.simulations - first
    digest = hashlib.sha256(b"".join(rows[n] for n in sorted(rows))).hexdigest()[:16]
    return {"kernel": 1e6 * kernel_seconds / visits, "all": 1e6 * spent / visits, "rows": digest}


def run(folder: Path, arguments: list[str]) -> list[dict[str, Any]]:
    """Measure with the sources of a checkout, in a process of its own."""
    place = folder / "build" / "typecheck"
    # A compiled kernel does not notice that a function it calls has changed: a cache for each state of the
    # sources.
    parts = [part.resolve() for part in sorted((place / "ckai").iterdir())]
    sources = b"".join(path.read_bytes() for part in parts for path in sorted(part.rglob("*.py")))
    cache = folder / "build" / "numba" / hashlib.sha256(sources).hexdigest()[:16]
    environment = {**os.environ, "PYTHONPATH": str(place), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, __file__, "--one", *arguments]
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    answers: list[dict[str, Any]] = json.loads(output)
    return answers


@click.command()
@click.option("--game", default="checkers", show_default=True, help="Game to play.")
@click.option("--games", default="1,16,256,1024", show_default=True, help="Games at the same time.")
@click.option("--sims", default=100, show_default=True, help="Visits per move.")
@click.option("--evict", default=4, show_default=True, help="MiB to read between two batches.")
@click.option("--seconds", default=1.0, show_default=True, help="Least duration of one measurement.")
@click.option("--rounds", default=5, show_default=True)
@click.option("--rows", default=0, show_default=True, help="Games whose rows are hashed.")
@click.option("--against", type=click.Path(exists=True, path_type=Path), help="Folder of another checkout.")
@click.option("--one", is_flag=True, help="Measure in this process and print JSON.")
def main(
    game: str,
    games: str,
    sims: int,
    evict: int,
    seconds: float,
    rounds: int,
    rows: int,
    against: Path | None,
    one: bool,
) -> None:
    """Measure the cost of a visit in self-play without the network."""
    numbers = [int(word) for word in games.split(",")]
    if one:
        print(json.dumps([measure(game, n, sims, evict, seconds, rows) for n in numbers]))
        return
    same = {"--game": game, "--sims": sims, "--evict": evict, "--seconds": seconds, "--rows": rows}
    arguments = [str(word) for option in same.items() for word in option]
    folders = [ROOT] if against is None else [against.resolve(), ROOT]
    taken: dict[tuple[int, Path], list[dict[str, Any]]] = {}
    for _ in range(rounds):
        for n in numbers:
            for folder in folders:
                answers = run(folder, ["--games", str(n), *arguments])
                taken.setdefault((n, folder), []).extend(answers)
    table = Table("games", "sources", "kernel", "with Python", "ratio", "rows", title="us per visit, medians")
    for n in numbers:
        for folder in folders:
            answers = taken[n, folder]
            kernel, whole = (statistics.median(a[name] for a in answers) for name in ("kernel", "all"))
            pairs = zip(answers, taken[n, folders[0]], strict=True)
            ratio = statistics.median(a["kernel"] / b["kernel"] for a, b in pairs)
            hashes = ", ".join({a["rows"] for a in answers}) if rows else ""
            table.add_row(str(n), folder.name, f"{kernel:.2f}", f"{whole:.2f}", f"{ratio:.2f}", hashes)
    Console().print(table)


if __name__ == "__main__":
    main()
