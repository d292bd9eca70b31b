"""What other work costs: training and self-play alone, beside one busy process and beside two.

    python benchmarks/speed/busy.py data/games.parquet -o busy

An epoch of `ckai pretrain`, and the play and the learning of a generation of `ckai selfplay`, each beside 0,
1 and 2 processes that do nothing but count. With `--spin` also with threads of PyTorch that spin where they
wait, as they do by default; `ckai` lets them sleep after some microseconds. Rounds alternate, so that a
machine that slows down slows all.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

COUNT = "while True: pass"
SPINS = "300000"
"""Turns of a spinning thread before it sleeps, GNU's default without `OMP_WAIT_POLICY`."""


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Run processes that use a core each, during a `with` block."""
    running = [subprocess.Popen([sys.executable, "-c", COUNT]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def run(arguments: list[str], spin: bool) -> str:
    """Run a command of ckai and return its standard output."""
    environment = {**os.environ, "OMP_WAIT_POLICY": "ACTIVE", "GOMP_SPINCOUNT": SPINS} if spin else None
    command = [sys.executable, "-m", "ckai.cli.main", *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def epoch(data: Path, folder: Path, model: str, spin: bool) -> float:
    """Return the seconds of one epoch of pretraining."""
    output = folder / "epoch.ckpt"
    arguments = ["--data", str(data), "--model", model, "--epochs", "1", "-o", str(output), "--fresh"]
    run(["pretrain", *arguments], spin)
    rows = (output.with_suffix(".run") / "metrics.csv").read_text().splitlines()
    names, values = rows[0].split(","), rows[1].split(",")
    return float(values[names.index("seconds")])


def generation(folder: Path, model: str, games: int, spin: bool) -> tuple[float, float]:
    """Return the seconds of play and of learning of one generation of some games."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        place = Path(name) / "run"
        run(
            [
                "selfplay", "--init", "none", "--model", model, "--run", str(place), "--games", str(games),
                "--sims", "50", "--generations", "1", "--gate-games", "0", "--evaluator", "torch",
            ],
            spin,
        )  # fmt: skip
        done = json.loads((place / "gen_0001" / "done.json").read_text())
    return float(done["selfplay"]["seconds"]), float(done["learn"]["seconds"])


@click.command()
@click.argument("data", type=click.Path(exists=True, path_type=Path))
@click.option("-o", "--output", default=Path("busy"), type=click.Path(path_type=Path), help="Folder.")
@click.option("--model", default="cnn2x2", show_default=True)
@click.option("--games", default=300, show_default=True, help="Games of the generation.")
@click.option("--rounds", default=3, show_default=True)
@click.option("--spin/--no-spin", default=False, help="Also measure with threads that spin.")
def main(data: Path, output: Path, model: str, games: int, rounds: int, spin: bool) -> None:
    """Measure how training and self-play share the machine."""
    output.mkdir(parents=True, exist_ok=True)
    taken: dict[tuple[bool, int], list[tuple[float, float, float]]] = {}
    for _ in range(rounds):
        for spinning in (False, True) if spin else (False,):
            for others in (0, 1, 2):
                with busy(others):
                    seconds = (
                        epoch(data, output, model, spinning),
                        *generation(output, model, games, spinning),
                    )
                taken.setdefault((spinning, others), []).append(seconds)
                print("spin" if spinning else "sleep", others, *(f"{s:.1f}" for s in seconds), flush=True)
    table = Table("threads wait", "busy processes", "epoch", "play", "learning", title="seconds, medians")
    for (spinning, others), rows in taken.items():
        alone = taken[spinning, 0]
        cells = []
        for n in range(3):
            median = statistics.median(row[n] for row in rows)
            ratio = median / statistics.median(row[n] for row in alone)
            cells.append(f"{median:.1f} ({ratio:.2f})")
        table.add_row("spinning" if spinning else "asleep", str(others), *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
