"""`ckai bench`: measure the speed of networks, searches and self-play on this machine."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.networks import evaluator_option, set_option
from ckai.cli.shared.output import json_option, print_json, report_compilation, stderr_console

PARTS = ("network", "search", "selfplay")
ROUNDS = 5
"""Repetitions of each measurement."""
SECONDS = 2.0
"""Duration of a measurement of self-play."""
IN_FLIGHT, SIMS = 256, 200
"""Games at the same time on a CPU, and visits per move."""


@click.command("bench")
@click.argument("parts", nargs=-1, metavar="[PART]...", type=click.Choice(PARTS))
@click.option(
    "--engine",
    metavar="CKPT",
    type=click.Path(path_type=Path),
    help="Network to measure with.  [default: a new one, see --model]",
)
@click.option("--model", default="cnn2x2", show_default=True, help="Architecture of the new network.")
@set_option
@evaluator_option()
@json_option
def command(
    parts: tuple[str, ...],
    engine: Path | None,
    model: str,
    pairs: tuple[str, ...],
    evaluator: str,
    as_json: bool,
) -> None:
    """Measure each PART, or all of them: the median of several rounds after a warm-up.

    PART is network, search or selfplay. The network and the search are measured with every backend that is
    installed, unless --evaluator names one; self-play with one. `ckai perft`, `parse` and `pretrain` tell
    their own speed.
    """
    import tempfile

    from ckai.models.checkpoint import load_network, save_checkpoint
    from ckai.models.inference.backends import BACKENDS
    from ckai.models.inference.cuda_backend import CudaEvaluator
    from ckai.models.inference.evaluator import AUTO
    from ckai.models.registry import build, parse_settings
    from ckai.rl import bench
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.selfplay.config import GPU_BATCH, SelfPlayConfig

    report_compilation()
    measures: list[Any] = []
    console = stderr_console()
    with tempfile.TemporaryDirectory() as name:
        checkpoint = engine or Path(name) / "new.ckpt"
        if engine is None:
            save_checkpoint(checkpoint, build(model, parse_settings(model, list(pairs))))
        network = load_network(checkpoint, game=None)
        encoding = network.encode
        game = encoding.GAME
        groups = SelfPlayConfig(in_flight=IN_FLIGHT).group_count
        loaded = load_evaluator(checkpoint, evaluator, threads=groups, game=game)
        in_flight = GPU_BATCH * groups if isinstance(loaded, CudaEvaluator) else IN_FLIGHT
        backends = BACKENDS if evaluator == AUTO else (evaluator,)
        benchmarks = {
            "network": lambda: bench.bench_network(network, backends, ROUNDS, SECONDS / 4),
            "selfplay": lambda: bench.bench_selfplay(
                loaded, encoding, sims=SIMS, in_flight=in_flight, rounds=ROUNDS, seconds=SECONDS
            ),
            "search": lambda: bench.bench_search(network, backends, ROUNDS, SECONDS / 4),
        }
        try:
            for part in parts or PARTS:
                console.print(f"measuring {part} ...")
                measures += list(benchmarks[part]())
        finally:
            loaded.close()
    if as_json:
        print_json({"measures": [asdict(measure) for measure in measures]})
        return
    from ckai.cli.shared.console import print_table, rows_table

    for unit in dict.fromkeys(measure.unit for measure in measures):
        columns = {"name": (unit, ""), "median": ("median", ""), "least": ("min", ""), "most": ("max", "")}
        rows = [
            {"name": each.name, **{name: _short(getattr(each, name)) for name in list(columns)[1:]}}
            for each in measures
            if each.unit == unit
        ]
        print_table(rows_table(rows, columns))


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
