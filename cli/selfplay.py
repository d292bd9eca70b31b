"""`ckai selfplay`: generations of games against itself."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.networks import EVALUATOR_HELP, EVALUATORS, GAMES
from ckai.cli.shared.output import json_option, report_compiling
from ckai.cli.shared.settings import SettingsCommand, given_settings, settings_options
from ckai.cli.shared.tables import make_sure_of
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.settings import change_settings, parse_settings
from ckai.rl.loop.config import RunConfig


@click.command("selfplay", cls=SettingsCommand)
@click.option(
    "--init",
    type=click.Path(path_type=Path),
    help="Checkpoint to start a new run from, or `none` for random weights; a run that continues has its own."
    "  [default: pretrained.ckpt]",
)
@click.option(
    "--game",
    type=click.Choice(GAMES),
    help=f"Game to play, for a new run.  [default: the network's; {DEFAULT_GAME_NAME} for --init none]",
)
@click.option("--model", help="Network architecture for --init none.  [default: cnn2x2]")
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a setting of that network; may be repeated.",
)
@click.option(
    "--run",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Run folder; an existing run is continued.  [default: a new one, runs/run-001, -002, ...]",
)
@click.option(
    "--generations",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Generations of the run, in total.",
)
@settings_options(RunConfig, {"overlap": "on with a GPU"})
@click.option(
    "--experts",
    type=click.Path(path_type=Path),
    help="Rows to draw the positions of --expert-share from, for a new run.",
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

    Each generation plays games with the newest network, learns from the last ones, and shows in a match
    against the network before it what that brought. The value learns (1 - w) z + w q: z the game's result, q
    the search's value. Stop it at any time; the same command with --run continues.
    """
    given = given_settings(ctx) | parse_settings(RunConfig, others)

    import torch

    from ckai.cli.shared.watching import go
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
                f"{folder}: this run has begun with its own settings ({what}); continue without that option"
            )
    else:
        source = first_network(init, game, model, pairs, given.get("seed", RunConfig().seed))
        network = load_checkpoint(source).network() if isinstance(source, Path) else source
        usual = replace(RunConfig.defaults_for(network.encode.GAME), overlap=torch.cuda.is_available())
        config = change_settings(usual, given)
        if game and game != config.game:
            where = source if isinstance(source, Path) else "the new network"
            raise RunError(f"{where}: expected a network for {game}, found one for {config.game}")
        run = Run.create(folder, source, config, expert_positions(experts, config))
    make_sure_of(run.config.selfplay.tables)
    report_compiling()
    go(run, generations, evaluator, as_json)


def first_network(
    init: Path | None, game: str | None, model: str | None, pairs: tuple[str, ...], seed: int
) -> Any:
    """The checkpoint of `--init`, or a new network.

    Raises:
        RunError: no such checkpoint, or an architecture beside one.
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
        sees = {"encoding": encoding} if encoding else {}
        return build(name, sees | parse_network_settings(name, list(pairs)))
    if model or pairs:
        raise RunError("--model and --set are for --init none: a checkpoint has its own architecture")
    source = init or Path("pretrained.ckpt")
    if not source.exists():
        hint = "" if init else " (give --init CHECKPOINT or --init none, or make one with `ckai pretrain`)"
        raise RunError(f"{source}: no such checkpoint{hint}")
    return source


def expert_positions(path: Path | None, config: RunConfig) -> list[Any]:
    """Positions for the games that begin in them.

    Raises:
        RunError: a share of such games and no data, or data and no share.
    """
    from ckai.rl.loop.folder import RunError
    from ckai.rl.selfplay.starts import draw_expert_positions

    if bool(config.start.expert_share) != (path is not None):
        raise RunError("expected --experts ROWS and --expert-share together, found one of them")
    return draw_expert_positions(path, seed=config.seed) if path is not None else []


def _first_difference(old: dict[str, Any], new: dict[str, Any]) -> str:
    for name, value in old.items():
        if isinstance(value, dict):
            found = _first_difference(value, new[name])
            if found:
                return found
        elif value != new[name]:
            return f"{name} = {value}, not {new[name]}"
    return ""
