"""`ckai bench`: measure the speed of networks and self-play on this machine."""

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.options import PATH, evaluator_option, json_option
from ckai.cli.shared.output import print_json

PARTS = ("network", "selfplay")
COLUMNS = ("name", "unit", "median", "least", "most")
ROUNDS = 5
"""Repetitions of each measurement."""
SECONDS = 2.0
"""Duration of a measurement of self-play."""
IN_FLIGHT, SIMS = 256, 200
"""Games at the same time on a CPU, and visits per move."""


@click.command("bench")
@click.argument("parts", nargs=-1, metavar="[PART]...", type=click.Choice(PARTS))
@click.option("--engine", metavar="CKPT", type=PATH, help="Network.  [default: a new cnn2x2]")
@evaluator_option
@json_option
def command(parts: tuple[str, ...], engine: Path | None, evaluator: str, as_json: bool) -> None:
    """Measure each PART, or all of them: the median of several rounds after a warm-up.

    PART is network or selfplay. The network is measured with every backend that is installed, unless
    --evaluator names one; self-play with one. `ckai perft`, `parse` and `pretrain` tell their own speed.
    """
    from ckai.cli.shared.console import print_rows
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.backends import BACKENDS, make_evaluator
    from ckai.models.inference.cuda_backend import CudaEvaluator
    from ckai.models.inference.evaluator import AUTO
    from ckai.models.network import build
    from ckai.rl import bench
    from ckai.rl.selfplay.config import GPU_BATCH, SelfPlayConfig

    measures: list[dict[str, Any]] = []
    network = build("cnn2x2") if engine is None else load_network(engine, game=None)
    groups = SelfPlayConfig(in_flight=IN_FLIGHT).group_count
    backends = BACKENDS if evaluator == AUTO else (evaluator,)
    for part in parts or PARTS:
        click.echo(f"measuring {part} ...", err=True)
        if part == "network":
            measures += bench.bench_network(network, backends, ROUNDS, SECONDS / 4)
        else:
            with closing(make_evaluator(network, evaluator, groups)) as loaded:
                in_flight = GPU_BATCH * groups if isinstance(loaded, CudaEvaluator) else IN_FLIGHT
                measures += bench.bench_selfplay(
                    loaded, network.encode, sims=SIMS, in_flight=in_flight, rounds=ROUNDS, seconds=SECONDS
                )
    if as_json:
        print_json({"measures": measures})
        return
    columns = {name: ("" if name in ("name", "unit") else name, "") for name in COLUMNS}
    print_rows(({name: _short(each[name]) for name in COLUMNS} for each in measures), columns, left=2)


def _short(value: Any) -> Any:
    """Return a figure as a text of a few digits."""
    if not isinstance(value, float):
        return value
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
