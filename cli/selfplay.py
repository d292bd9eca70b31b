"""`ckai selfplay`: continue training by self-play."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.networks import EVALUATOR_HELP, EVALUATORS, GAMES
from ckai.cli.shared.output import json_option, report_compilation
from ckai.cli.shared.settings import SettingsCommand, given_settings, settings_options
from ckai.cli.shared.tables import ensure_tables
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.settings import change_settings, parse_settings
from ckai.rl.loop.config import RunConfig


@click.command("selfplay", cls=SettingsCommand)
@click.option(
    "--init",
    type=click.Path(path_type=Path),
    help="Checkpoint to start a new run from, or `none` for random weights; ignored when a run is continued."
    "  [default: pretrained.ckpt]",
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
    help="Run folder; an existing run is continued.  [default: a new folder, runs/run-001, -002, ...]",
)
@click.option(
    "--generations",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Total number of generations, including finished ones.",
)
@settings_options(RunConfig, {"overlap": "on with a GPU"})
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
@click.option(
    "--evaluator",
    default="fastest",
    show_default=True,
    type=click.Choice(EVALUATORS),
    help=EVALUATOR_HELP,
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    init: Path | None,
    game: str | None,
    folder: Path | None,
    generations: int,
    evaluator: str,
    model: str | None,
    pairs: tuple[str, ...],
    experts: Path | None,
    others: tuple[str, ...],
    as_json: bool,
) -> None:
    """Continue training by self-play.

    Each generation plays games with the newest network, trains on the games of the last generations, and
    plays a gate match against the previous network. The value target is (1 - w) z + w q, with the game's
    result z and the search's value q. You can interrupt it at any time and continue with --run.
    """
    given = given_settings(ctx) | parse_settings(RunConfig, others)

    import torch

    from ckai.cli.shared.run_screen import continue_run
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.loop.folder import RunError, fresh_folder
    from ckai.rl.loop.run import Run

    folder = folder or fresh_folder()
    if Run.exists(folder):
        run = Run.open(folder)
        wanted = change_settings(run.config, given | ({"game": game} if game else {}))
        if wanted != run.config:
            what = _first_difference(run.config.to_dict(), wanted.to_dict())
            raise RunError(
                f"{folder}: expected the settings of the run, found another one ({what}); omit that option"
            )
    else:
        source = first_network(init, game, model, pairs, given.get("seed", RunConfig().seed))
        network = load_checkpoint(source).network() if isinstance(source, Path) else source
        defaults = replace(RunConfig.defaults_for(network.encode.GAME), overlap=torch.cuda.is_available())
        config = change_settings(defaults, given)
        if game and game != config.game:
            where = source if isinstance(source, Path) else "the new network"
            raise RunError(f"{where}: expected a network for {game}, found one for {config.game}")
        run = Run.create(folder, source, config, expert_positions(experts, config))
    ensure_tables(run.config.selfplay.tables)
    report_compilation()
    continue_run(run, generations, evaluator, as_json)


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

    from ckai.models.registry import build
    from ckai.models.registry import parse_settings as parse_network_settings
    from ckai.rl.games.registry import get_game
    from ckai.rl.loop.folder import RunError

    if init == Path("none"):
        torch.manual_seed(seed)
        name = model or "cnn2x2"
        encoding = get_game(game).encoding if game else None
        settings = {"encoding": encoding} if encoding else {}
        return build(name, settings | parse_network_settings(name, list(pairs)))
    if model or pairs:
        raise RunError("expected --init none with --model or --set, as a checkpoint has its own architecture")
    source = init or Path("pretrained.ckpt")
    if not source.exists():
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


def _first_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    for name, value in old.items():
        if isinstance(value, dict):
            difference = _first_difference(value, new[name])
            if difference:
                return difference
        elif value != new[name]:
            return f"{name} = {value}, not {new[name]}"
    return ""
