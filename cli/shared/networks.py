"""The networks that commands find and the names of their options."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from ckai.datasets import choices
from ckai.datasets.choices import DEFAULT_GAME_NAME, entry_points_of
from ckai.models.pretrained import CKAI, network_path

NETWORK_PATTERNS = ("pretrained.ckpt", "runs/*/best.ckpt")
"""Glob patterns of networks, relative to the current folder."""

NO_NETWORK = ("rollout", "uniform")
"""Players without a network: random playouts, and uniform priors with value 0."""

GAMES = sorted(entry_points_of(choices.GAMES))
"""Choices of `--game`: the installed games."""


def resolve_network(source: str) -> str:
    """Return the checkpoint of a file or run folder, or the name of a search without a network."""
    return source if source in NO_NETWORK else str(network_file(Path(source)))


EVALUATORS = ["auto", "torch", "openvino", "cuda"]
"""Choices of `--evaluator`; integer networks have integers with auto."""
EVALUATOR_HELP = (
    "Backend of the network; auto: integers for --model swift, else the first of cuda (cuda:1 is the "
    "second GPU), openvino and torch."
)


class EvaluatorChoice(click.Choice):  # type: ignore[type-arg]
    """One of `EVALUATORS`, or a GPU by its number, such as `cuda:1`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """See click."""
        return value if re.fullmatch(r"cuda:\d+", str(value)) else super().convert(value, param, ctx)


def evaluator_option(default: str = "auto") -> Callable[[Any], Any]:
    """Return the decorator that adds `--evaluator`."""
    return click.option(
        "--evaluator",
        default=default,
        show_default=True,
        type=EvaluatorChoice(EVALUATORS),
        help=EVALUATOR_HELP,
    )


set_option: Callable[[Any], Any] = click.option(
    "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of a new network; may be repeated."
)
"""`--set`, passed to the command as `pairs`."""


def newest_name(game: str = DEFAULT_GAME_NAME) -> str:
    """Return the newest network here; print its name, and what was skipped, on standard error.

    Raises:
        NoNetworkError: see `newest_network`.
    """
    path, skipped = newest_network(game=game)
    for text in skipped:
        click.echo(f"skipped {text}", err=True)
    name = str(path)
    mine = (
        "no trained network in this folder: using the one installed with ckai"
        if name == CKAI
        else f"the newest network here is {name}"
    )
    click.echo(mine, err=True)
    return name


class NoNetworkError(ValueError):
    """No network was found; the message says where and how to make one."""


def newest_network(folder: Path = Path(), game: str = DEFAULT_GAME_NAME) -> tuple[Path, list[str]]:
    """Find the newest of `pretrained.ckpt` and the best networks of runs that plays a game.

    Where there is none, it is the one installed with ckai, which plays checkers.

    Args:
        folder: folder to search.
        game: name of the game.

    Returns:
        The checkpoint; and for each newer file that was skipped, its name and the reason.

    Raises:
        NoNetworkError: there is none.
    """
    skipped = []
    for path, other in networks_in(folder):
        if other is None:
            skipped.append(f"{path} (not a checkpoint that can be read)")
        elif other == game:
            return path, skipped
        else:
            skipped.append(f"{path} (plays {other})")
    if game == DEFAULT_GAME_NAME:
        return Path(CKAI), skipped
    where = "here" if folder == Path() else f"in {folder}/"
    found = f"only {', '.join(skipped)}" if skipped else "no network"
    raise NoNetworkError(
        f"expected {' or '.join(NETWORK_PATTERNS)} {where} that plays {game}, found {found}; run "
        "`ckai pretrain`, or give --engine CHECKPOINT or --engine rollout"
    )


def networks_in(folder: Path = Path()) -> Iterator[tuple[Path, str | None]]:
    """Yield `pretrained.ckpt` and the best networks of runs in a folder, newest first, each with its game.

    The game of a file that cannot be read is None.
    """
    paths = [path for place in NETWORK_PATTERNS for path in folder.glob(place) if path.is_file()]
    if not paths:
        return
    from ckai.models.checkpoint import CheckpointError, load_checkpoint  # PyTorch takes seconds to import

    for path in sorted(paths, key=lambda path: (path.stat().st_mtime_ns, str(path)), reverse=True):
        try:
            yield path, load_checkpoint(path).network().encode.GAME
        except CheckpointError:
            yield path, None


def network_file(source: Path) -> Path:
    """Return the checkpoint for a file, a run folder (its best network) or the name of an installed network.

    Raises:
        NoNetworkError: there is none.
    """
    path = network_path(source)
    if not path.is_file():
        raise NoNetworkError(f"{path}: expected a checkpoint, found no such file")
    return path
