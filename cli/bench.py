"""`ckai bench`: measure the speed of each part on this machine."""

from pathlib import Path
from typing import Any

import click

from ckai.cli.match import _Even
from ckai.cli.shared.networks import evaluator_option
from ckai.cli.shared.numbers import FiniteRange
from ckai.cli.shared.output import (
    count_text,
    json_option,
    print_json,
    report_compilation,
    stderr_console,
    time_text,
)
from ckai.datasets.machine import available_cores

PARTS = ("rules", "playouts", "parse", "network", "tree", "selfplay", "games", "search", "training")


@click.command("bench")
@click.argument("parts", nargs=-1, metavar="[PART]...", type=click.Choice(PARTS))
@click.option(
    "--engine",
    metavar="CKPT",
    type=click.Path(path_type=Path),
    help="Network to measure with.  [default: a new one, see --model]",
)
@click.option("--model", default="cnn2x2", show_default=True, help="Architecture of the new network.")
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting of the new network; may be repeated.",
)
@evaluator_option()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1), help="Number of repetitions.")
@click.option(
    "--seconds",
    default=2.0,
    show_default=True,
    type=FiniteRange(0, min_open=True),
    help="Duration of each self-play measurement.",
)
@click.option(
    "--in-flight",
    default=256,
    show_default=True,
    type=click.IntRange(1),
    help="Number of games played at the same time.",
)
@click.option("--sims", default=200, show_default=True, type=click.IntRange(1), help="Visits per move.")
@click.option(
    "--games", default=256, show_default=True, type=click.IntRange(1), help="Number of whole games to play."
)
@click.option(
    "--limit",
    "limits",
    multiple=True,
    metavar="SECONDS",
    type=FiniteRange(0, min_open=True),
    help="Time of a search; may be repeated.  [default: 0.02, 0.05, 0.2, 1, 5]",
)
@click.option(
    "--strength",
    "match_games",
    metavar="GAMES",
    type=_Even(2),
    help="Also play matches of this many games for the Elo of each backend at each --limit; takes long.",
)
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
    limits: tuple[float, ...],
    match_games: int | None,
    as_json: bool,
) -> None:
    """Measure each PART, or all of them: the median of several rounds after a warm-up.

    PART is rules, playouts, parse, network, tree, selfplay, games, search or training. The network and the
    search are measured with every backend that is installed, unless --evaluator names one; the other parts
    with one. With --strength, each backend plays the first backend at each limit, and the first backend
    plays itself at the next shorter limit; an integer network plays both as tree search and as alpha-beta.
    The first backend at the shortest limit has 0 Elo.

    The two sides of a ratio take turns, so a machine that slows down affects both.
    """
    import tempfile

    from ckai.datasets.choices import DEFAULT_GAME_NAME
    from ckai.models.checkpoint import load_network, save_checkpoint
    from ckai.models.inference.backends import AUTO, BACKENDS
    from ckai.models.registry import build, parse_settings
    from ckai.rl.bench import rules as bench
    from ckai.rl.bench import search as bench_search
    from ckai.rl.bench import strength as bench_strength
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.games.registry import get_game
    from ckai.rl.selfplay.config import SelfPlayConfig

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
        if (limits or match_games) and "search" not in selected:
            raise click.UsageError("expected the part search with --limit and --strength, found none")
        groups = SelfPlayConfig(in_flight=in_flight).group_count
        loaded = load_evaluator(checkpoint, evaluator, threads=groups, game=game)
        backends = BACKENDS if evaluator == AUTO else (evaluator,)
        times = limits or bench_search.LIMITS
        if match_games:
            backends_of_matches = bench_strength.available(network, backends)
            matches = bench_strength.matches(backends_of_matches, times)
            if not matches:
                raise click.UsageError("--strength needs two backends or two time limits to compare")
        benchmarks = {
            "rules": lambda: bench.bench_rules(rounds),
            "playouts": lambda: bench.bench_playouts(rounds, seconds),
            "parse": lambda: bench.bench_parse(rounds, folder),
            "network": lambda: bench_search.bench_network([network], backends, rounds, seconds / 4),
            "tree": lambda: bench_search.bench_tree(rounds, seconds, sims=sims, in_flight=in_flight),
            "selfplay": lambda: bench_search.bench_selfplay(
                loaded, sims=sims, in_flight=in_flight, rounds=rounds, seconds=seconds, encoding=encoding
            ),
            "games": lambda: bench_search.bench_games(
                loaded, sims=sims, games=games, in_flight=in_flight, spec=get_game(game)
            ),
            "search": lambda: bench_search.bench_search(network, backends, rounds, seconds / 4, times),
            "training": lambda: bench.bench_training(rounds, load_network(checkpoint, game=None)),
        }
        try:
            for part in selected:
                console.print(f"measuring {part} ...")
                measures += list(benchmarks[part]())
                if part == "search" and match_games:
                    estimate = bench_strength.match_seconds(matches, match_games, available_cores())
                    console.print(
                        f"playing {count_text(len(matches), 'match', 'matches')} of "
                        f"{match_games:,} games, about {time_text(estimate)} ..."
                    )
                    measures += bench_strength.bench_strength(
                        network, backends_of_matches, times, match_games, say=console.print
                    )
        finally:
            loaded.close()
    if as_json:
        print_json({"measures": [measure.to_dict() for measure in measures]})
        return
    unit = None
    for measure in measures:
        if measure.unit != unit:
            unit = measure.unit
            titles = ("Elo", "from", "to") if unit == "Elo" else ("median", "min", "max")
            heading = "strength by time per move, 95 % interval" if unit == "Elo" else unit
            click.echo(f"{heading:53}{''.join(f'{title:>9}' for title in titles)}")
        show = "{:+.0f}".format if unit == "Elo" else _short
        numbers = [f"{show(value):>9}" for value in (measure.median, measure.least, measure.most)]
        name = measure.name if len(measure.name) <= 50 else f"{measure.name[:47]}..."
        click.echo(f"  {name:51}{''.join(numbers)}")
        if measure.against:
            click.echo(f"    {measure.against}")


def _short(value: float) -> str:
    if value >= 1e6:
        return f"{value / 1e6:.2f} M"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
