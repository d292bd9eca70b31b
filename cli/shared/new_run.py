"""What commands share that begin self-play runs: options of the first network, settings of a new run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.existing_run import DEFAULT_INIT, NO_INIT, Wanted
from ckai.cli.shared.networks import GAMES
from ckai.cli.shared.unused import check_used
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.datasets.settings import change_settings
from ckai.rl.leases.config import WorkersConfig
from ckai.rl.loop.config import RunConfig
from ckai.rl.selfplay.config import GPU_IN_FLIGHT, SelfPlayConfig

IN_FLIGHT = "selfplay.in_flight"
"""Setting of the games played at the same time."""
IN_FLIGHT_TEXT = f"{SelfPlayConfig().in_flight}; with a GPU all of a generation, at most {GPU_IN_FLIGHT}"
"""Its default in help."""
RAY_LATE = 0.1
"""Default of `--late` for a new run with `--ray`."""

_NETWORK_OPTIONS: list[Callable[[Any], Any]] = [
    click.option(
        "--init",
        type=click.Path(path_type=Path),
        help="Checkpoint to start a new run from, or `none` for random weights.  [default: pretrained.ckpt]",
    ),
    click.option(
        "--game",
        type=click.Choice(GAMES),
        help=f"Game of a new run.  [default: the network's game; {DEFAULT_GAME_NAME} with --init none]",
    ),
    click.option("--model", help="Network architecture for --init none.  [default: cnn2x2]"),
    click.option(
        "--set",
        "pairs",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change a setting of the new network; may be repeated.",
    ),
]

experts_option: Callable[[Any], Any] = click.option(
    "--experts",
    type=click.Path(path_type=Path),
    help="Rows to draw the start positions of --expert-share from, for a new run.",
)
"""`--experts`; pass the value to `expert_positions`."""
setting_option: Callable[[Any], Any] = click.option(
    "--setting",
    "others",
    multiple=True,
    metavar="NAME=VALUE",
    help="Change any setting by its name in the run's config.json, such as learn.batch_size=256; may be "
    "repeated.",
)
"""`--setting`, passed to the command as `others`."""


def first_network_options(command: Any) -> Any:
    """Add the options of the first network, the arguments of `first_network` but the seed."""
    for option in reversed(_NETWORK_OPTIONS):
        command = option(command)
    return command


def new_run(
    wanted: Wanted,
    evaluator: str,
    ray: str | None = None,
    work: WorkersConfig | None = None,
) -> tuple[Any, RunConfig]:
    """Return the first network of a new run, and its settings: those given, else defaults.

    Args:
        wanted: what the command says of the run.
        evaluator: evaluator backend.
        ray: value of `--ray`.
        work: settings of its workers.

    Returns:
        The checkpoint, or the network; and the settings, whose defaults are for the game and the machine.

    Raises:
        RunError: see `first_network`, or the network is for another game.
        ValueError: conflicting settings.
        UsageError: a setting that was given would do nothing.
    """
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.loop.folder import RunError

    given = dict(wanted.given)
    seed = given.get("seed", RunConfig().seed)
    source = first_network(wanted.init, wanted.game, wanted.model, wanted.pairs, seed)
    network = load_checkpoint(source).network() if isinstance(source, Path) else source
    defaults = default_config(network.encode.GAME, ray)
    on_gpu = runs_on_gpu(network, evaluator) if work is None or ray is None else work.gpus_per_worker > 0
    config = change_settings(defaults, given)
    check_used(config, wanted.given)
    if on_gpu and IN_FLIGHT not in given:
        config = config.for_gpu()
    if wanted.game and wanted.game != config.game:
        where = source if isinstance(source, Path) else "the new network"
        raise RunError(f"{where}: expected a network for {wanted.game}, found one for {config.game}")
    return source, config


def default_config(game: str, ray: str | None = None) -> RunConfig:
    """Return the settings that a new run has where none are given, but for the games in flight on a GPU.

    Args:
        game: name of the game.
        ray: value of `--ray`.
    """
    import torch

    overlap = ray is not None or torch.cuda.is_available()
    late = 0.0 if ray is None else RAY_LATE
    return replace(RunConfig.defaults_for(game), overlap=overlap, late=late)


def runs_on_gpu(network: Any, evaluator: str) -> bool:
    """Return whether self-play runs a network on a GPU of this machine, as far as is known before a trial.

    Args:
        network: the first network.
        evaluator: evaluator backend.
    """
    from ckai.models.inference.backends import AUTO, FASTEST, backend_without_trial

    backend = backend_without_trial(network) if evaluator in (AUTO, FASTEST) else evaluator
    return backend is not None and backend.startswith("cuda")


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
        torch.manual_seed(seed % 2**63)
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
