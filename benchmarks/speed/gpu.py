"""What a GPU gives: networks, self-play, learning, generations, and agreement with the CPU, in one table.

    python benchmarks/speed/gpu.py
    python benchmarks/speed/gpu.py --data games.parquet

Takes less than eight minutes; rows for which no time is left are not measured. Without a GPU, or with
`--small`, every row is measured with small sizes, which shows only that the script works.

Each network is trained for an epoch, then compared with the CPU, timed alone and in self-play. At the end the
default network plays and learns some generations, in turn and without a break in playing. Self-play has as
many games in flight as a GPU wants; its ratio is to the best rate of the network alone.
"""

import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import click
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from ckai.datasets.convert import parse_files
from ckai.datasets.machine import available_cores
from ckai.datasets.settings import change_settings
from ckai.models.inference.backends import TorchEvaluator, best_rate, sample_positions
from ckai.models.inference.cuda_backend import CudaEvaluator
from ckai.models.inference.evaluator import Evaluator
from ckai.models.network import Network
from ckai.models.training.config import PRESETS, PretrainConfig, preset_settings
from ckai.models.training.lightning_module import PolicyValueModule
from ckai.models.training.pretrain import network_and_data
from ckai.models.training.trainer import TrainingProgress, fit
from ckai.rl.bench import evaluations_of, selfplay_rates
from ckai.rl.run.config import GateConfig, LearnConfig, RunConfig
from ckai.rl.run.run import Run
from ckai.rl.selfplay.config import GPU_BATCH, SelfPlayConfig

SAMPLE = Path(__file__).parents[2] / "data" / "sample.pdn"
DEFAULT = "default"
"""Name of the default network among the presets."""


@dataclass(frozen=True)
class Sizes:
    """How much is measured."""

    epoch_rows: int
    """Rows of an epoch; data sets are repeated or cut to it."""
    batches: tuple[int, ...]
    positions: int
    """Positions compared with the CPU."""
    in_flight: int
    sims: int
    seconds: float
    """Duration of a measurement of the network alone; self-play takes six times as long."""
    play_seconds: float
    """Time to play a generation, from which follow its games."""
    most_games: int
    generations: int
    gate_games: int


IN_FLIGHT = GPU_BATCH * available_cores()
FULL = Sizes(400_000, (64, 256, 1024, 4096), 4096, IN_FLIGHT, 100, 0.5, 10.0, 10_000, 3, 100)
SMALL = Sizes(300, (16, 64), 32, 16, 8, 0.02, 0.02, 6, 2, 0)


class Report:
    """The rows of the table, and the time left."""

    def __init__(self, minutes: float, console: Console) -> None:
        """Start the clock."""
        self.table = Table("part", "what", "figure", "beside", title_justify="left")
        self.console = console
        self._end = time.monotonic() + 60 * minutes

    @property
    def left(self) -> float:
        """Seconds left."""
        return self._end - time.monotonic()

    def measure(self, part: str, what: str, work: Callable[[], tuple[str, str]]) -> None:
        """Add a row with the figure, and what to compare it with, that `work` returns."""
        figure, beside = work() if self.left > 0 else ("not measured", "no time left")
        self.table.add_row(part, what, figure, beside)
        self.console.print(f"{part}: {what}: {figure} {beside}", highlight=False)


class Bench:
    """The measurements, on one device."""

    def __init__(self, device: torch.device, sizes: Sizes, data: Path, report: Report) -> None:
        """Measure nothing yet."""
        self.device, self.sizes, self.data, self.report = device, sizes, data, report
        play = SelfPlayConfig(sims=sizes.sims, in_flight=sizes.in_flight, tables=0)
        self.selfplay, self.threads = play, play.group_count
        self.networks: dict[str, Network] = {}

    def evaluator(self, network: Network, dtype: torch.dtype) -> Evaluator:
        """Return an evaluator on the device; that of a CPU has float32."""
        if self.device.type == "cuda":
            return CudaEvaluator(network, self.device, dtype)
        return TorchEvaluator(network)

    def run(self) -> None:
        """Measure everything."""
        for name in (DEFAULT, *PRESETS):
            self.report.measure("epoch", name, lambda name=name: self.epoch(name))
        for name, network in self.networks.items():
            for dtype, bound in ((torch.float32, 1e-4), (torch.bfloat16, 0.05)):
                what = f"{name}, {str(dtype).removeprefix('torch.')}"
                self.report.measure(
                    "agreement", what, lambda n=network, d=dtype, b=bound: self.agreement(n, d, b)
                )
        for name, network in self.networks.items():
            for batch in self.sizes.batches:
                what = f"{name}, batches of {batch:,}"
                self.report.measure("network", what, lambda n=network, b=batch: self.alone(n, b))
        for name, network in self.networks.items():
            self.report.measure("self-play", name, lambda n=network: self.play(n))
        for overlap in (False, True):
            what = "without a break" if overlap else "in turn"
            self.report.measure("generation", what, lambda o=overlap: self.generations(o))

    def epoch(self, name: str) -> tuple[str, str]:
        """Train the network of a preset for an epoch and keep it."""
        config = preset(name, self.device.type)
        network, data = network_and_data([self.data], config)
        config = replace(config, weights=(self.sizes.epoch_rows / data.train_rows,))
        network, data = network_and_data([self.data], config)
        module = PolicyValueModule.of(network, config.train)
        told: list[TrainingProgress] = []
        fit(module, data, config.train, device=self.device, progress=told.append)
        self.networks[name] = network
        rate = median(progress.rows_per_second for progress in told)
        top = products(network, data.batch_size, self.device, self.sizes.seconds)
        return f"{rate:,.0f} rows/s", f"{rate / top:.2f} of {top:,.0f} in bare matrix products"

    def agreement(self, network: Network, dtype: torch.dtype, bound: float) -> tuple[str, str]:
        """Compare with float32 on the CPU; convolutions of float32 on the GPU without TF32."""
        rows = sample_positions(self.sizes.positions, network.encode)
        mine = self.evaluator(network, dtype)
        with without_tf32():
            found = mine.policy(rows, network.encode.legal_mask(rows))
        mine.close()
        exact = TorchEvaluator(network).policy(rows, network.encode.legal_mask(rows))
        policy, value = (float(np.abs(a - b).max()) for a, b in zip(found, exact, strict=True))
        verdict = "within" if max(policy, value) <= bound else "MORE THAN"
        return f"probability {policy:.1g}, value {value:.1g}", f"{verdict} {bound:g}"

    def alone(self, network: Network, batch: int) -> tuple[str, str]:
        """Measure the network alone."""
        mine = self.evaluator(network, self.precision)
        self.ceiling(mine, network, batch)  # captures
        rate = self.ceiling(mine, network, batch)
        mine.close()
        return f"{rate:,.0f} evaluations/s", f"{self.threads} threads"

    def play(self, network: Network) -> tuple[str, str]:
        """Measure self-play, relative to the network alone."""
        mine = self.evaluator(network, self.precision)
        selfplay_rates(mine, self.selfplay, self.sizes.seconds)
        top, _, _ = best_rate(mine, network.encode, self.sizes.batches, (2, self.threads), self.sizes.seconds)
        rate = selfplay_rates(mine, self.selfplay, 6 * self.sizes.seconds)["evaluations"]
        mine.close()
        return f"{rate / top:.2f} of the network alone", f"{rate:,.0f} of {top:,.0f} evaluations/s"

    def generations(self, overlap: bool) -> tuple[str, str]:
        """Play and learn generations of the default network."""
        network, sizes = self.networks[DEFAULT], self.sizes
        mine = self.evaluator(network, self.precision)
        rate = selfplay_rates(mine, self.selfplay, 2 * sizes.seconds)["evaluations"]
        mine.close()
        config = RunConfig(
            selfplay=self.selfplay,
            overlap=overlap,
            learn=LearnConfig(),
            gate=GateConfig(games=sizes.gate_games),
        )
        # Learning may take as long as playing: a half for each, of both kinds of runs.
        seconds = min(sizes.play_seconds, max(0.0, self.report.left) / (4 * sizes.generations))
        games = int(rate * seconds / evaluations_of(config, 1))
        config = replace(config, games=max(2, min(sizes.most_games, games)))
        with tempfile.TemporaryDirectory() as folder:
            run = Run.create(Path(folder) / "run", network, config)
            begun = time.monotonic()
            run.go(sizes.generations, lambda event: None, backend=self.backend)
            spent = time.monotonic() - begun
            played, learned = (
                sum(done[part]["seconds"] for done in run.history()) for part in ("selfplay", "learn")
            )
        parts = f"of {config.games:,} games; playing {played:.1f} s, learning {learned:.1f} s in all"
        return f"{spent / sizes.generations:.1f} s", parts

    @property
    def precision(self) -> torch.dtype:
        """What networks are evaluated in."""
        return torch.bfloat16 if self.device.type == "cuda" else torch.float32

    @property
    def backend(self) -> str:
        """Name of the backend."""
        return "cuda" if self.device.type == "cuda" else "torch"

    def ceiling(self, evaluator: Evaluator, network: Network, batch: int) -> float:
        """Return the evaluations/s of an evaluator called by all threads."""
        return best_rate(evaluator, network.encode, [batch], [self.threads], self.sizes.seconds)[0]


def products(network: Network, rows: int, device: torch.device, seconds: float) -> float:
    """Return the rows/s of the matrix products of training steps alone, in bf16, as one CUDA graph.

    Three for each layer, in its shapes: the output and both gradients. Leaves the network in evaluation mode.
    """
    shapes: list[tuple[int, int, int]] = []

    def note(layer: torch.nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        weights = layer.weight.flatten(1).shape  # a convolution multiplies the patches around each square
        shapes.append((output.numel() // weights[0], weights[1], weights[0]))

    layers = [m for m in network.modules() if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    hooks = [layer.register_forward_hook(note) for layer in layers]
    with torch.inference_mode():
        network.cpu().eval().forward_planes(torch.zeros(rows, network.encode.PLANES, *network.encode.SHAPE))
    for hook in hooks:
        hook.remove()
    kinds = [pair for m, k, n in shapes for pair in (((m, k), (k, n)), ((m, n), (n, k)), ((k, m), (m, n)))]
    pairs = [[torch.rand(shape, device=device, dtype=torch.bfloat16) for shape in kind] for kind in kinds]

    def work() -> None:
        for left, right in pairs:
            left @ right

    work()
    graph = torch.cuda.CUDAGraph() if device.type == "cuda" else None
    if graph:
        with torch.cuda.graph(graph):
            work()
    steps, begun = 0, time.monotonic()
    while time.monotonic() - begun < seconds:
        for _ in range(20 if graph else 1):
            graph.replay() if graph else work()
            steps += 1
        if graph:
            torch.cuda.synchronize()
    return steps * rows / (time.monotonic() - begun)


@contextmanager
def without_tf32() -> Iterator[None]:
    """Compute convolutions of float32 in float32, during a `with` block."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def preset(name: str, device: str) -> PretrainConfig:
    """Return the settings of an epoch of a preset on all rows."""
    changes = {} if name == DEFAULT else preset_settings(name, device)
    changes |= {"train.epochs": 1, "heldout": 0.0}
    return change_settings(PretrainConfig(), changes)


def title(device: torch.device, small: bool) -> str:
    """Return what was measured on."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    sizes = ", small sizes: these are no benchmarks" if small else ""
    return f"{name}, {available_cores()} cores, PyTorch {torch.__version__}{sizes}"


@click.command()
@click.option(
    "--data", type=click.Path(exists=True, path_type=Path), help="Rows to learn.  [default: sample]"
)
@click.option("--small/--full", default=None, help="Small or full sizes.  [default: full with a GPU]")
@click.option("--minutes", default=7.5, show_default=True, help="Begin no row after this time.")
def main(data: Path | None, small: bool | None, minutes: float) -> None:
    """Measure and print the table."""
    where = torch.device("cuda", 0) if torch.cuda.is_available() else torch.device("cpu")
    small = where.type != "cuda" if small is None else small
    report = Report(minutes, Console(stderr=True))
    report.table.title = title(where, small)
    with tempfile.TemporaryDirectory() as folder:
        if data is None:
            data = Path(folder) / "sample.parquet"
            parse_files([SAMPLE], data)
        Bench(where, SMALL if small else FULL, data, report).run()
    Console(width=None if Console().is_terminal else 140).print(report.table)


if __name__ == "__main__":
    main()
