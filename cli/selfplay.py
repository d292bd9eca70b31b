"""`ckai selfplay`: continue training by self-play."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.cluster import ray_option
from ckai.cli.shared.existing_run import (
    DEFAULT_EVALUATOR,
    DEFAULT_INIT,
    NO_INIT,
    Wanted,
    continue_command,
)
from ckai.cli.shared.networks import GAMES, evaluator_option
from ckai.cli.shared.output import count_text, json_option, report_compilation
from ckai.cli.shared.settings import SettingsCommand, given_settings, settings_options
from ckai.cli.shared.tables import ensure_tables
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.settings import all_settings, change_settings, parse_settings
from ckai.rl.leases.config import WorkersConfig, WorkSettings
from ckai.rl.loop.config import RunConfig
from ckai.rl.selfplay.config import GPU_IN_FLIGHT, SelfPlayConfig

THREADS = "selfplay.groups"
"""Setting of the threads that play."""
GENERATIONS = 10
"""Default of `--generations` for a new run."""
IN_FLIGHT = "selfplay.in_flight"
"""Setting of the games played at the same time."""
IN_FLIGHT_TEXT = f"{SelfPlayConfig().in_flight}; with a GPU all of a generation, at most {GPU_IN_FLIGHT}"
"""Its default in help."""
RAY_LATE = 0.1
"""Default of `--late` for a new run with `--ray`."""


@click.command("selfplay", cls=SettingsCommand)
@click.option(
    "--init",
    type=click.Path(path_type=Path),
    help="Checkpoint to start a new run from, or `none` for random weights.  [default: pretrained.ckpt]",
)
@click.option(
    "--game",
    type=click.Choice(GAMES),
    help=f"Game of a new run.  [default: the network's game; {DEFAULT_GAME_NAME} with --init none]",
)
@click.option("--model", help="Network architecture for --init none.  [default: cnn2x2]")
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting of the new network; may be repeated.",
)
@click.option(
    "--run",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Run folder; an existing run is continued.  [default: the newest of runs/run-001, -002, ... if it "
    "is unfinished and has the network and settings given here, else a new one]",
)
@click.option("--fresh", is_flag=True, help="Begin a new run beside an unfinished one.")
@click.option(
    "--generations",
    type=click.IntRange(0),
    help="Total number of generations, including finished ones.  [default: that of an unfinished run, else "
    f"{GENERATIONS}]",
)
@settings_options(
    RunConfig,
    {
        "overlap": "on with a GPU or --ray",
        "late": f"0, with --ray {RAY_LATE}",
        IN_FLIGHT: IN_FLIGHT_TEXT,
    },
)
@settings_options(WorkSettings)
@click.option(
    "--experts",
    type=click.Path(path_type=Path),
    help="Rows to draw the start positions of --expert-share from, for a new run.",
)
@click.option(
    "--setting",
    "others",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change any setting by its name in the run's config.json, such as learn.batch_size=256; may be "
    "repeated.",
)
@ray_option
@click.option("--dry-run", is_flag=True, help="Say what a generation will take, and do nothing.")
@click.option(
    "--join",
    "joined",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="RUN",
    help="Play games for the run in this folder, on which another process works, until it is finished; takes "
    "--evaluator and --groups only.",
)
@evaluator_option(DEFAULT_EVALUATOR)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    init: Path | None,
    game: str | None,
    folder: Path | None,
    fresh: bool,
    generations: int | None,
    evaluator: str,
    model: str | None,
    pairs: tuple[str, ...],
    experts: Path | None,
    others: tuple[str, ...],
    ray: str | None,
    dry_run: bool,
    joined: Path | None,
    as_json: bool,
) -> None:
    """Continue training by self-play.

    Each generation plays games with the newest network, trains on the games of the last generations, and
    plays a gate match against the previous network. The value target is (1 - w) z + w q, with the game's
    result z and the search's value q. After an interruption, the same command continues the run.
    """
    given = given_settings(ctx) | parse_settings(RunConfig, others)
    if joined is not None:
        check_join(ctx)
        from ckai.cli.shared.joining import join_run

        join_run(joined, evaluator, given.get(THREADS, 0), as_json)
        return
    of_workers = {name: given.pop(name) for name in list(given) if name.startswith("workers.")}
    work = change_settings(WorkSettings(), of_workers).workers
    check_workers(ray, of_workers)

    import torch

    from ckai.cli.shared.run_screen import continue_run
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.leases.cluster import connect
    from ckai.rl.leases.folder import LeaseFolder
    from ckai.rl.leases.on_ray import RayWorkers
    from ckai.rl.loop.folder import RunError
    from ckai.rl.loop.run import Run

    if fresh and folder:
        raise click.UsageError("expected --fresh or --run, found both; omit one of them")
    if ray is not None:
        connect(ray, work)
    wanted = Wanted(init, game, model, pairs, experts, given)
    folder = folder or default_folder(wanted, fresh)
    if Run.exists(folder):
        run = Run.open(folder)
        what = wanted.difference(run)
        if what:
            raise RunError(
                f"{folder}: expected the settings of the run, found others ({what}); omit that option, or "
                "give another --run"
            )
    else:
        source = first_network(init, game, model, pairs, given.get("seed", RunConfig().seed))
        network = load_checkpoint(source).network() if isinstance(source, Path) else source
        overlap = ray is not None or torch.cuda.is_available()
        late = 0.0 if ray is None else RAY_LATE
        defaults = replace(RunConfig.defaults_for(network.encode.GAME), overlap=overlap, late=late)
        on_gpu = runs_on_gpu(network, evaluator) if ray is None else work.gpus_per_worker > 0
        config = change_settings(defaults, given)
        if on_gpu and IN_FLIGHT not in given:
            config = config.for_gpu()
        if game and game != config.game:
            where = source if isinstance(source, Path) else "the new network"
            raise RunError(f"{where}: expected a network for {game}, found one for {config.game}")
        if dry_run:
            describe(config, source, evaluator, ray, work, as_json)
            return
        run = Run.create(folder, source, config, expert_positions(experts, config))
        run.set_target(GENERATIONS if generations is None else generations)
    if dry_run:
        describe(run.config, run.network, evaluator, ray, work, as_json)
        return
    if generations is None:
        generations = run.target if run.generations < run.target else GENERATIONS
    try:
        ensure_tables(run.config.selfplay.tables)
        report_compilation()
        in_flight = run.config.selfplay.in_flight
        workers = (
            LeaseFolder(run.folder, in_flight, work.lease_timeout)
            if ray is None
            else RayWorkers(in_flight, evaluator, work)
        )
        continue_run(run, generations, evaluator, workers, as_json)
    except KeyboardInterrupt:
        click.echo(f"continue with: {continue_command(run, generations, evaluator, ray)}", err=True)
        raise


def runs_on_gpu(network: Any, evaluator: str) -> bool:
    """Return whether self-play runs a network on a GPU of this machine, as far as is known before a trial.

    Args:
        network: the first network.
        evaluator: evaluator backend.
    """
    from ckai.models.inference.choose import AUTO, FASTEST, backend_without_trial

    backend = backend_without_trial(network) if evaluator in (AUTO, FASTEST) else evaluator
    return backend is not None and backend.startswith("cuda")


def check_workers(ray: str | None, given: dict[str, Any]) -> None:
    """Refuse settings of workers that would do nothing.

    Args:
        ray: value of `--ray`.
        given: settings of workers that were given.

    Raises:
        UsageError: there is such a setting.
    """
    options = {setting.path: str(setting.option) for setting in all_settings(WorkSettings)}
    for name in given:
        if ray is None and name != "workers.lease_timeout":
            raise click.UsageError(
                f"expected {options[name]} with --ray, found it without; add --ray or omit it"
            )
        if ray != "local" and name == "workers.store_mb":
            raise click.UsageError(
                f"expected {options[name]} with --ray local, found --ray {ray}, a cluster that has its own "
                "object store; omit it"
            )


def describe(
    config: RunConfig, source: Any, evaluator: str, ray: str | None, work: WorkersConfig, as_json: bool
) -> None:
    """Print what a generation will take, see `print_dry_run`.

    Args:
        config: settings of the run.
        source: checkpoint of the network, or the network.
        evaluator: evaluator backend.
        ray: value of `--ray`.
        work: settings of workers.
        as_json: print the result as JSON.
    """
    from ckai.cli.shared.dry_run import print_dry_run
    from ckai.rl.leases.on_ray import RayWorkers

    if ray is None:
        places, threads = [("this machine", 1)], config.selfplay.group_count
    else:
        workers = RayWorkers(config.selfplay.in_flight, evaluator, work)
        places, threads = workers.room(), work.cpus_per_worker
        workers.close()
    print_dry_run(config, source, evaluator, places, threads, as_json)


def check_join(ctx: click.Context) -> None:
    """Refuse options that `--join` does not take.

    Args:
        ctx: context of the command.

    Raises:
        UsageError: there is such an option.
    """
    taken, default = ("--join", "--groups", "--evaluator", "--json"), click.core.ParameterSource.DEFAULT
    for parameter in ctx.command.params:
        if parameter.opts[0] not in taken and ctx.get_parameter_source(str(parameter.name)) is not default:
            raise click.UsageError(
                f"expected --join with --evaluator and --groups only, found {parameter.opts[0]} too; omit it"
            )


def default_folder(wanted: Wanted, fresh: bool) -> Path:
    """Return the folder of the newest run if that is the one wanted and unfinished, else of a new run.

    Args:
        wanted: what the command says of the run.
        fresh: whether to begin a new run in any case.
    """
    from ckai.rl.loop.folder import RunError, fresh_folder, newest_folder
    from ckai.rl.loop.run import Run

    folder, newest = fresh_folder(), newest_folder()
    if newest is None:
        return folder
    try:
        run = Run.open(newest)
    except RunError:  # from another version
        return folder
    if run.generations >= run.target:
        return folder
    has = f"{run.generations} of {count_text(run.target, 'generation')}"
    what = "" if fresh else wanted.without_run().difference(run)
    if not fresh and not what:
        click.echo(f"continuing {newest}, which has {has}; --fresh begins a new run", err=True)
        return newest
    reason = f" ({what})" if what else ""
    click.echo(
        f"beginning {folder}; {newest} has {has}{reason}; continue that with: "
        f"{continue_command(run, run.target)}",
        err=True,
    )
    return folder


def first_network(
    init: Path | None, game: str | None, model: str | None, pairs: tuple[str, ...], seed: int
) -> Any:
    """Return the checkpoint of `--init`, or a new network for `--init none`.

    Args:
        init: value of `--init`.
        game: game of a new network.
        model: architecture of a new network.
        pairs: its settings, as `KEY=VALUE`.
        seed: seed of its weights.

    Raises:
        RunError: the checkpoint does not exist, or `model` or `pairs` are given with one.
    """
    import torch

    from ckai.models.pretrained import network_path
    from ckai.models.registry import build
    from ckai.models.registry import parse_settings as parse_network_settings
    from ckai.rl.games.registry import get_game
    from ckai.rl.loop.folder import RunError

    if init == NO_INIT:
        torch.manual_seed(seed)
        name = model or "cnn2x2"
        encoding = get_game(game).encoding if game else None
        settings = {"encoding": encoding} if encoding else {}
        return build(name, settings | parse_network_settings(name, list(pairs)))
    if model or pairs:
        raise RunError("expected --init none with --model or --set, as a checkpoint has its own architecture")
    source = init or DEFAULT_INIT
    if not network_path(source).exists():
        hint = "" if init else "; run `ckai pretrain`, or give --init CHECKPOINT or --init none"
        raise RunError(f"{source}: expected a checkpoint, found no such file{hint}")
    return source


def expert_positions(path: Path | None, config: RunConfig) -> list[Any]:
    """Draw the expert positions of a new run; empty without `--experts`.

    Args:
        path: value of `--experts`.
        config: settings of the run.

    Raises:
        RunError: `--experts` without `--expert-share`, or the other way round.
    """
    from ckai.rl.loop.folder import RunError
    from ckai.rl.selfplay.starts import draw_expert_positions

    if bool(config.start.expert_share) != (path is not None):
        raise RunError("expected --experts ROWS and --expert-share together, found one of them")
    return draw_expert_positions(path, seed=config.seed) if path is not None else []
