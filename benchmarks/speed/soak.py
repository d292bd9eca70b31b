"""Whether memory stays flat: the process of a run on Ray, its workers and the object store.

    python benchmarks/speed/soak.py --minutes 60 -o soak.jsonl

Plays generations of small games with `--ray local` until the time is over, and looks every few seconds at
the resident memory of the process of the run, at that of its workers, and at the bytes in use in the object
store. The first generations do not count: networks, kernels and libraries are loaded in them, and PyTorch
keeps what it compiles for new sizes of batches until that cache is full. Prints for each of the three the
median of the first and of the last quarter of the time, the most, and the slope of the straight line through
all samples. Needs Ray, and Linux.
"""

import json
import statistics
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from ckai.models.registry import build
from ckai.rl.games.registry import get_game
from ckai.rl.leases.cluster import LOCAL, connect, import_ray
from ckai.rl.leases.config import WorkersConfig
from ckai.rl.leases.on_ray import RayWorkers
from ckai.rl.loop.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.loop.events import RunEvent
from ckai.rl.loop.run import Run

MIB = 2**20


@dataclass(frozen=True)
class Sample:
    """What was seen at one moment; sizes in MiB."""

    minutes: float
    """When."""
    generation: int
    """Finished generations."""
    driver: float
    """Resident memory of this process."""
    workers: float
    """Resident memory of all workers."""
    store: float
    """Bytes in use in the object stores of all nodes."""


class TimeIsUpError(Exception):
    """Ends the run; nothing went wrong."""


def resident(pid: str = "self") -> float:
    """Return the resident memory of a process in MiB; 0 if it is gone."""
    with suppress(OSError):
        for line in Path("/proc", pid, "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def soak(run: Run, workers: RayWorkers, minutes: float, every: float, warm: int) -> list[Sample]:
    """Play generations for some time.

    Args:
        run: a new run.
        workers: its workers.
        minutes: how long, beginning with the first sample.
        every: seconds between two samples.
        warm: generations before the first sample.

    Returns:
        The samples.
    """
    ray, samples, lock = import_ray(), list[Sample](), threading.Lock()
    generation, due = 0, 0.0

    def look(now: float) -> Sample:
        size = ray.cluster_resources()["object_store_memory"]
        store = (size - ray.available_resources().get("object_store_memory", size)) / MIB
        pids = [name.rpartition("-")[2] for name in list(workers.heartbeats)]
        return Sample(now / 60, generation, resident(), sum(map(resident, pids)), store)

    def on_event(event: RunEvent) -> None:
        """Called several times a second, by several threads."""
        nonlocal generation, due
        with lock:
            if event.stage == "done":
                generation = event.generation
            now = time.monotonic()
            if generation >= warm and now >= due:
                due = now + every
                samples.append(look(now))
            if samples and samples[-1].minutes - samples[0].minutes >= minutes:
                raise TimeIsUpError

    with suppress(TimeIsUpError):
        run.go(10**6, on_event, workers=workers)
    return samples


def show(samples: list[Sample]) -> None:
    """Print a table of the samples."""
    quarter = max(1, len(samples) // 4)
    hours = np.array([sample.minutes / 60 for sample in samples])
    table = Table("MiB", "first quarter", "last quarter", "most", "slope an hour")
    for name in ("driver", "workers", "store"):
        sizes = [float(getattr(sample, name)) for sample in samples]
        slope = np.polyfit(hours, sizes, 1)[0] if len(samples) > 1 else 0.0
        first, last = statistics.median(sizes[:quarter]), statistics.median(sizes[-quarter:])
        table.add_row(name, *(f"{size:.1f}" for size in (first, last, max(sizes))), f"{slope:+.1f}")
    Console(width=100).print(table)


@click.command()
@click.option("--minutes", default=60.0, show_default=True, help="Time after the first generations.")
@click.option("--every", default=5.0, show_default=True, help="Seconds between two samples.")
@click.option("--game", default="tictactoe", show_default=True)
@click.option("--games", default=400, show_default=True, help="Games of a generation.")
@click.option("--sims", default=50, show_default=True, help="Visits per move.")
@click.option("--workers", "count", default=2, show_default=True)
@click.option(
    "--store-mb", default=WorkersConfig.store_mb, show_default=True, help="Size of the object store."
)
@click.option("--warm", default=20, show_default=True, help="Generations before the first sample.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="JSON lines of the samples.")
def main(
    minutes: float,
    every: float,
    game: str,
    games: int,
    sims: int,
    count: int,
    store_mb: int,
    warm: int,
    output: Path | None,
) -> None:
    """Measure."""
    config = RunConfig.defaults_for(game)
    config = replace(
        config,
        games=games,
        overlap=True,
        selfplay=replace(config.selfplay, sims=sims, in_flight=32, groups=1),
        learn=LearnConfig(epochs=1),
        gate=GateConfig(games=0),
    )
    # Large enough for the object store: what is below 100 kB is sent along with a call.
    settings = {"channels": 16, "hidden": 512, "encoding": get_game(game).encoding}
    work = WorkersConfig(count=count, store_mb=store_mb)
    with tempfile.TemporaryDirectory() as folder:
        run = Run.create(Path(folder, "run"), build("cnn2x2", settings), config)
        connect(LOCAL, work)
        samples = soak(run, RayWorkers(config.selfplay.in_flight, "torch", work), minutes, every, warm)
    if output is not None:
        output.write_text("".join(json.dumps(asdict(sample)) + "\n" for sample in samples))
    if not samples:
        raise click.ClickException("expected samples, found none: the run ended before them")
    lasted, generations = samples[-1].minutes - samples[0].minutes, samples[-1].generation - warm
    click.echo(f"{lasted:.1f} minutes, {len(samples)} samples, {generations * games} games of {game}")
    show(samples)


if __name__ == "__main__":
    main()
