"""`ckai selfplay`: continue training by self-play."""

from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.cluster import ray_option
from ckai.cli.shared.existing_run import (
    DEFAULT_EVALUATOR,
    Wanted,
    continue_command,
)
from ckai.cli.shared.networks import evaluator_option
from ckai.cli.shared.new_run import (
    IN_FLIGHT,
    IN_FLIGHT_TEXT,
    RAY_LATE,
    expert_positions,
    experts_option,
    first_network_options,
    new_run,
    setting_option,
)
from ckai.cli.shared.output import count_text, json_option, report_compilation
from ckai.cli.shared.settings import SettingsCommand, given_settings, settings_options
from ckai.cli.shared.tables import ensure_tables
from ckai.datasets.settings import all_settings, change_settings, parse_settings
from ckai.rl.leases.config import WorkersConfig, WorkSettings
from ckai.rl.loop.config import MAX_GENERATIONS, RunConfig

THREADS = "selfplay.groups"
"""Setting of the threads that play."""
GENERATIONS = 10
"""Default of `--generations` for a new run."""


@click.command("selfplay", cls=SettingsCommand)
@first_network_options
@click.option(
    "--run",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Run folder; an existing run is continued.  [default: the newest of runs/run-001, -002, ... if it "
    "is unfinished and has the network and settings given here, else a new one]",
)
@click.option("--fresh", is_flag=True, help="Start a new run even if one is unfinished.")
@click.option(
    "--generations",
    type=click.IntRange(0, MAX_GENERATIONS),
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
@experts_option
@setting_option
@ray_option
@click.option("--dry-run", is_flag=True, help="Estimate the cost of a generation and exit.")
@click.option(
    "--join",
    "joined",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="RUN",
    help="Play games for the run that another process trains in this folder, until it finishes; takes "
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

    from ckai.cli.shared.run_screen import continue_run
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
        source, config = new_run(wanted, evaluator, ray, work)
        positions = expert_positions(experts, config)
        if dry_run:
            describe(config, source, evaluator, ray, work, as_json)
            return
        target = GENERATIONS if generations is None else generations
        run = Run.create(folder, source, config, positions, generations=target)
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
        click.echo(
            f"continue with: {continue_command(run, generations, evaluator, ray, of_workers)}", err=True
        )
        raise


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
    from ckai.models.registry import ModelError
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
    try:
        what = "" if fresh else wanted.without_run().difference(run)
    except ModelError as error:  # --set of another network than that of the run
        what = str(error)
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
