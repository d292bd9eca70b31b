"""`ckai selfplay`: train by self-play."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.options import (
    GAMES,
    PATH,
    evaluator_option,
    given_settings,
    json_option,
    set_option,
    settings_options,
)
from ckai.cli.shared.output import count_text, print_json
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.machine import available_cores
from ckai.datasets.settings import change_settings, flat_settings, parse_settings
from ckai.rl.run.config import RunConfig, WorkSettings

if TYPE_CHECKING:
    from ckai.models.network import Network

IN_FLIGHT, THREADS = "selfplay.in_flight", "selfplay.groups"
"""Settings of the games played at the same time, and of the threads that play."""
GENERATIONS = 10
"""Default of `--generations` for a new run."""
DEFAULT_INIT, NO_INIT = Path("pretrained.ckpt"), Path("none")
"""Default of `--init`, and its value for random weights."""


@click.command("selfplay")
@click.option(
    "--init",
    type=PATH,
    metavar="CKPT",
    help="Checkpoint that a new run starts from; none: random weights.  [default: pretrained.ckpt]",
)
@click.option(
    "--game",
    type=click.Choice(GAMES),
    help=f"Game of a new run.  [default: the network's, else {DEFAULT_GAME_NAME}]",
)
@click.option("--model", metavar="NAME", help="Architecture of a new network.  [default: cnn2x2]")
@set_option
@click.option(
    "--run",
    "folder",
    type=PATH,
    metavar="FOLDER",
    help="Run to continue, or a new one.  [default: a new one, runs/run-001, -002, ...]",
)
@click.option(
    "--generations",
    type=click.IntRange(0),
    metavar="N",
    help=f"Generations in all, with finished ones.  [default: those of the run, else {GENERATIONS}]",
)
@click.option(
    "--config",
    "config_file",
    type=PATH,
    metavar="FILE",
    help="Settings of a new run, YAML or JSON; options override it.",
)
@settings_options(RunConfig, WorkSettings)
@click.option(
    "--ray",
    is_flag=False,
    flag_value="auto",
    metavar="[ADDRESS]",
    help="Play on a Ray cluster: that of this machine, one at HOST:PORT, or `local`, one for this command.",
)
@click.option("--dry-run", is_flag=True, help="Estimate the cost of a generation and exit.")
@click.option(
    "--join",
    "joined",
    type=PATH,
    metavar="RUN",
    help="Play games for a run that another process trains, until it is finished.",
)
@evaluator_option
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    init: Path | None,
    game: str | None,
    model: str | None,
    pairs: tuple[str, ...],
    folder: Path | None,
    generations: int | None,
    config_file: Path | None,
    ray: str | None,
    dry_run: bool,
    joined: Path | None,
    evaluator: str,
    as_json: bool,
) -> None:
    """Train by self-play.

    Each generation plays games with the newest network, trains on the games of the last generations, and
    plays a gate match against the previous network. The value target is (1 - w) z + w q, with the game's
    result z and the search's value q. `ckai selfplay --run FOLDER` continues a run, also after an
    interruption; it keeps its settings.
    """
    given = given_settings(ctx)
    if joined is not None:
        allowed = {"joined", "evaluator", "as_json"} | ({"setting"} if given.keys() == {THREADS} else set())
        for parameter in ctx.command.params:
            default = ctx.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.DEFAULT
            if parameter.name not in allowed and not default:
                raise click.UsageError(
                    f"expected --join with --evaluator and --setting {THREADS} only, found "
                    f"{parameter.opts[0]} too; omit it"
                )
        _join(joined, evaluator, given.get(THREADS, 0) or available_cores(), as_json)
        return
    if config_file is not None:
        given = _settings_in(config_file) | given
    of_workers = {name: given.pop(name) for name in list(given) if name.startswith("workers.")}
    work = change_settings(WorkSettings(), of_workers).workers

    from ckai.cli.shared.run_screen import continue_run, print_dry_run
    from ckai.models.checkpoint import load_checkpoint
    from ckai.models.inference.backends import usual_backend
    from ckai.rl.run.run import Run, RunError
    from ckai.rl.run.runs import fresh_folder, unfinished_run
    from ckai.rl.run.worker import RayWorkers, connect

    if ray is not None:
        if dry_run:
            raise click.UsageError("expected --dry-run without --ray, as it measures this machine")
        connect(ray, work)
    named = (("--init", init), ("--game", game), ("--model", model), *(("--set", pair) for pair in pairs))
    first = shlex.join(word for option, value in named if value is not None for word in (option, str(value)))
    run, source = Run.open(folder) if folder is not None and Run.exists(folder) else None, None
    if run is not None:
        begun = load_checkpoint(run.network_path(0)).info.get("init")
        if first not in ("", begun) or change_settings(run.config, given) != run.config:
            raise RunError(f"{folder} is a run with its own settings; give --run OTHER to start a new one")
        config, network = run.config, load_checkpoint(run.network).network()
    else:
        game = game or given.get("game")
        source, network = _first_network(init, game, model, pairs, given.get("seed", RunConfig().seed))
        on_gpu = work.gpus_per_worker > 0 if ray else usual_backend(network, evaluator) == "cuda"
        config = _new_config(network, game, given, on_gpu)
    if dry_run:
        print_dry_run(config, network, evaluator)
        return
    if run is None:
        folder, unfinished = folder or fresh_folder(), None if folder else unfinished_run()
        if unfinished is not None:
            has = f"{unfinished.generations} of {count_text(unfinished.target, 'generation')}"
            click.echo(
                f"beginning {folder}; --run {unfinished.folder} continues the one with {has}", err=True
            )
        target, first = GENERATIONS if generations is None else generations, first or f"--init {DEFAULT_INIT}"
        run = Run.create(folder, source or network, config, generations=target, begun=first)
    if generations is None:
        generations = run.target if run.generations < run.target else GENERATIONS
    try:
        workers = None if ray is None else RayWorkers(evaluator, work)
        continue_run(run, generations, evaluator, workers, as_json)
    except KeyboardInterrupt:
        words = ["ckai", "selfplay", "--run", str(run.folder)]
        words += ["--evaluator", evaluator] if evaluator != "auto" else []
        words += [] if ray is None else ["--ray", ray]
        click.echo(f"continue with: {shlex.join(words)}", err=True)
        raise


def _settings_in(path: Path) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise ValueError(f"{path}: expected settings as YAML or JSON ({reason})") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path}: expected settings by name, found {type(data).__name__}")
    data.pop("format", None)  # of the config.json of a run
    texts = {name: v if isinstance(v, str) else json.dumps(v) for name, v in flat_settings(data).items()}
    return parse_settings(RunConfig, (f"{name}={text}" for name, text in texts.items()))


def _first_network(
    init: Path | None, game: str | None, model: str | None, pairs: tuple[str, ...], seed: int
) -> "tuple[Path | None, Network]":
    import torch

    from ckai.models.checkpoint import load_checkpoint
    from ckai.models.network import build, parse_network_settings
    from ckai.models.pretrained import network_path
    from ckai.rl.games.registry import get_game
    from ckai.rl.run.run import RunError

    if init == NO_INIT:
        torch.manual_seed(seed % 2**63)
        name = model or "cnn2x2"
        encoding = get_game(game).encoding if game else None
        settings = {"encoding": encoding} if encoding else {}
        return None, build(name, settings | parse_network_settings(name, pairs))
    if model or pairs:
        raise RunError("expected --init none with --model or --set, as a checkpoint has its own architecture")
    source = init or DEFAULT_INIT
    if not network_path(source).exists():
        hint = "" if init else "; run `ckai pretrain`, or give --init CHECKPOINT or --init none"
        raise RunError(f"{source}: expected a checkpoint, found no such file{hint}")
    return source, load_checkpoint(source).network()


def _new_config(network: "Network", game: str | None, given: dict[str, Any], on_gpu: bool) -> RunConfig:
    """Return the settings of a new run: those given, else defaults for the game and the machine."""
    from ckai.rl.bench import games_in_flight

    if game not in (None, network.encode.GAME):
        raise ValueError(f"expected a network for {game}, found one for {network.encode.GAME}")
    defaults = RunConfig.defaults_for(network.encode.GAME)
    if on_gpu:  # plays a generation of the usual size in a second or two
        defaults = replace(defaults, overlap=True, games=20 * defaults.games)
    config = change_settings(defaults, given)
    if IN_FLIGHT in given:
        return config
    if on_gpu:
        return config.for_gpu()
    return change_settings(config, {IN_FLIGHT: games_in_flight(config, network)})


def _join(folder: Path, evaluator: str, threads: int, as_json: bool) -> None:
    from ckai.cli.shared.console import stderr_console
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.backends import usual_backend
    from ckai.rl.run.run import Run

    run = Run.open(folder)
    network = load_network(run.network_path(0), run.config.game)
    on_gpu = usual_backend(network, evaluator) == "cuda"
    with stderr_console().status(f"{folder}: waiting for games to play") as status:

        def show(worker: Any) -> None:
            if worker.evaluator:
                games = count_text(worker.progress.games, "game")
                status.update(f"{folder}: {games} with {worker.evaluator}")

        worker = run.join(backend=evaluator, threads=threads, on_gpu=on_gpu, on_progress=show)
    games = worker.progress.games
    if as_json:
        print_json({"run": str(folder), "games": games, "evaluator": worker.evaluator})
    else:
        click.echo(f"{folder}: played {count_text(games, 'game')}; the run has all its generations")
