"""`ckai bench`: how fast everything is on this machine."""

from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.networks import EVALUATOR_HELP, EVALUATORS
from ckai.cli.shared.output import json_option, print_json, report_compiling, talk

PARTS = ("rules", "playouts", "parse", "network", "tree", "selfplay", "games", "search", "training")


@click.command("bench")
@click.argument("parts", nargs=-1, type=click.Choice(PARTS))
@click.option(
    "--engine",
    metavar="CKPT",
    type=click.Path(path_type=Path),
    help="Network to measure with.  [default: a new one of --model]",
)
@click.option("--model", default="cnn2x2", show_default=True, help="Architecture of a new network.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the new network.")
@click.option(
    "--evaluator", default="fastest", show_default=True, type=click.Choice(EVALUATORS), help=EVALUATOR_HELP
)
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1), help="Repetitions.")
@click.option("--seconds", default=2.0, show_default=True, type=float, help="Of each self-play measure.")
@click.option("--in-flight", default=256, show_default=True, type=click.IntRange(1), help="Games at once.")
@click.option("--sims", default=200, show_default=True, type=click.IntRange(1), help="Visits a move.")
@click.option("--games", default=256, show_default=True, type=click.IntRange(1), help="Whole games to play.")
@json_option
def command(
    parts: tuple[str, ...],
    engine: Path | None,
    model: str,
    pairs: tuple[str, ...],
    evaluator: str,
    rounds: int,
    seconds: float,
    in_flight: int,
    sims: int,
    games: int,
    as_json: bool,
) -> None:
    """Measure PARTS (all of them, if none is named), each warm and repeated; medians are shown.

    Ratios are of rounds in turn, so that a machine that slows down slows both sides.
    """
    import tempfile

    from ckai.datasets.choices import DEFAULT_GAME_NAME
    from ckai.models.checkpoint import load_network, save_checkpoint
    from ckai.models.registry import build, parse_settings
    from ckai.rl.bench import rules as bench
    from ckai.rl.bench import search as bench_search
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.config import SelfPlayConfig

    report_compiling()
    found: list[Any] = []
    screen = talk()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        network = engine or folder / "new.ckpt"
        if engine is None:
            save_checkpoint(network, build(model, parse_settings(model, list(pairs))))
        found_network = load_network(network, game=None)
        encoding = found_network.encode
        game = encoding.GAME
        if game != DEFAULT_GAME_NAME and "search" in parts:
            raise click.UsageError(
                f"expected a network for {DEFAULT_GAME_NAME} to measure search, found {network} for {game}"
            )
        wanted = parts or [part for part in PARTS if part != "search" or game == DEFAULT_GAME_NAME]
        groups = SelfPlayConfig(in_flight=in_flight).group_count
        loaded = load_evaluator(
            network,
            evaluator,
            batch=max(1, in_flight // groups),
            threads=groups,
            game=game,
            tell=lambda r: screen.print(str(r)),
        )
        makers = {
            "rules": lambda: bench.bench_rules(rounds),
            "playouts": lambda: bench.bench_playouts(rounds, seconds),
            "parse": lambda: bench.bench_parse(rounds, folder),
            "network": lambda: bench_search.bench_network([found_network], rounds, seconds / 4),
            "tree": lambda: bench_search.bench_tree(rounds, seconds),
            "selfplay": lambda: bench_search.bench_selfplay(
                loaded, sims=sims, in_flight=in_flight, rounds=rounds, seconds=seconds, encoding=encoding
            ),
            "games": lambda: bench_search.bench_games(loaded, sims=sims, games=games, spec=get_game(game)),
            "search": lambda: bench_search.bench_search(loaded, rounds, seconds / 4),
            "training": lambda: bench.bench_training(rounds, model),
        }
        try:
            for part in wanted:
                screen.print(f"measuring {part} ...")
                found += list(makers[part]())
        finally:
            loaded.close()
    if as_json:
        print_json({"measures": [measure.to_dict() for measure in found]})
        return
    click.echo(f"{'':56} {'median':>12}  {'least':>10} {'most':>10}  unit")
    for measure in found:
        numbers = f"{_short(measure.median):>12}  {_short(measure.least):>10} {_short(measure.most):>10}"
        against = f"  ({measure.against})" if measure.against else ""
        click.echo(f"{measure.name[:56]:56} {numbers}  {measure.unit}{against}")


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
