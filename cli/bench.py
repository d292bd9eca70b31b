"""`ckai bench`: measure the speed of each part on this machine."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.networks import evaluator_option, set_option
from ckai.cli.shared.output import json_option, print_json, report_compilation, stderr_console

PARTS = ("rules", "playouts", "parse", "network", "tree", "selfplay", "games", "search", "training")
ROUNDS = 5
"""Repetitions of each measurement."""
SECONDS = 2.0
"""Duration of a measurement of self-play."""
IN_FLIGHT, GAMES, SIMS = 256, 256, 200
"""Games at the same time on a CPU, whole games to play, and visits per move."""


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

    PART is rules, playouts, parse, network, tree, selfplay, games, search or training. The network and the
    search are measured with every backend that is installed, unless --evaluator names one; the other parts
    with one.
    """
    import tempfile

    from ckai.datasets.choices import DEFAULT_GAME_NAME
    from ckai.models.checkpoint import load_network, save_checkpoint
    from ckai.models.inference.backends import BACKENDS
    from ckai.models.inference.cuda_backend import CudaEvaluator
    from ckai.models.inference.evaluator import AUTO
    from ckai.models.registry import build, parse_settings
    from ckai.rl import bench
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.config import GPU_BATCH, SelfPlayConfig

    report_compilation()
    measures: list[Any] = []
    console = stderr_console()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkpoint = engine or folder / "new.ckpt"
        if engine is None:
            save_checkpoint(checkpoint, build(model, parse_settings(model, list(pairs))))
        network = load_network(checkpoint, game=None)
        encoding = network.encode
        game = encoding.GAME
        unsupported = () if game == DEFAULT_GAME_NAME else ("search", "training")
        if wrong := [part for part in parts if part in unsupported]:
            raise click.UsageError(
                f"expected a network for {DEFAULT_GAME_NAME} to measure {wrong[0]}, found {checkpoint} for "
                f"{game}"
            )
        selected = parts or [part for part in PARTS if part not in unsupported]
        groups = SelfPlayConfig(in_flight=IN_FLIGHT).group_count
        loaded = load_evaluator(checkpoint, evaluator, threads=groups, game=game)
        in_flight = GPU_BATCH * groups if isinstance(loaded, CudaEvaluator) else IN_FLIGHT
        backends = BACKENDS if evaluator == AUTO else (evaluator,)
        benchmarks = {
            "rules": lambda: bench.bench_rules(ROUNDS),
            "playouts": lambda: bench.bench_playouts(ROUNDS),
            "parse": lambda: bench.bench_parse(ROUNDS, folder),
            "network": lambda: bench.bench_network(network, backends, ROUNDS, SECONDS / 4),
            "tree": lambda: bench.bench_tree(ROUNDS, SECONDS, sims=SIMS, in_flight=IN_FLIGHT),
            "selfplay": lambda: bench.bench_selfplay(
                loaded, encoding, sims=SIMS, in_flight=in_flight, rounds=ROUNDS, seconds=SECONDS
            ),
            "games": lambda: bench.bench_games(
                loaded, sims=SIMS, games=GAMES, in_flight=IN_FLIGHT, spec=get_game(game)
            ),
            "search": lambda: bench.bench_search(network, backends, ROUNDS, SECONDS / 4),
            "training": lambda: bench.bench_training(ROUNDS, load_network(checkpoint, game=None)),
        }
        try:
            for part in selected:
                console.print(f"measuring {part} ...")
                measures += list(benchmarks[part]())
        finally:
            loaded.close()
    if as_json:
        print_json({"measures": [asdict(measure) for measure in measures]})
        return
    unit = None
    for measure in measures:
        if measure.unit != unit:
            unit = measure.unit
            click.echo(f"{unit:53}{'median':>9}{'min':>9}{'max':>9}")
        numbers = [f"{_short(value):>9}" for value in (measure.median, measure.least, measure.most)]
        name = measure.name if len(measure.name) <= 50 else f"{measure.name[:47]}..."
        click.echo(f"  {name:51}{''.join(numbers)}")
        if measure.against:
            click.echo(f"    {measure.against}")


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
