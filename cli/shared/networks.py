"""The networks that commands find and the names of their options."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from ckai.datasets import choices
from ckai.datasets.choices import DEFAULT_GAME_NAME, entry_points_of
from ckai.models.pretrained import CKAI

NETWORK_PATTERNS = ("pretrained.ckpt", "runs/*/best.ckpt")
"""Glob patterns of networks, relative to the current folder."""

NO_NETWORK = ("rollout", "uniform")
"""Players without a network: random playouts, and uniform priors with value 0."""

GAMES = sorted(entry_points_of(choices.GAMES))
"""Choices of `--game`: the installed games."""


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


seed_option: Callable[[Any], Any] = click.option(
    "--seed", type=click.IntRange(0), help="Seed of the search and of random choices.  [default: random]"
)
"""`--seed` of a game with people."""

set_option: Callable[[Any], Any] = click.option(
    "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Setting of a new network; may be repeated."
)
"""`--set`, passed to the command as `pairs`."""


def newest_network(game: str = DEFAULT_GAME_NAME) -> str:
    """Return the newest of `pretrained.ckpt` and the best networks of runs here that plays a game.

    Says on standard error which one it is, and which newer ones were skipped.

    Returns:
        Its path; `CKAI` where there is none that plays checkers.

    Raises:
        ValueError: there is none.
    """
    skipped = []
    for path, other in networks_in():
        if other == game:
            click.echo(f"the newest network here is {path}", err=True)
            return str(path)
        skipped.append(f"{path} ({f'plays {other}' if other else 'not a checkpoint that can be read'})")
        click.echo(f"skipped {skipped[-1]}", err=True)
    if game == DEFAULT_GAME_NAME:
        return CKAI
    found = f"only {', '.join(skipped)}" if skipped else "no network"
    raise ValueError(
        f"expected {' or '.join(NETWORK_PATTERNS)} here that plays {game}, found {found}; run "
        "`ckai pretrain`, or give --engine CHECKPOINT or --engine rollout"
    )


def networks_in() -> Iterator[tuple[Path, str | None]]:
    """Yield `pretrained.ckpt` and the best networks of runs here, newest first, each with its game.

    The game of a file that cannot be read is None.
    """
    paths = [path for place in NETWORK_PATTERNS for path in Path().glob(place) if path.is_file()]
    if not paths:
        return
    from ckai.models.checkpoint import CheckpointError, load_checkpoint  # PyTorch takes seconds to import

    for path in sorted(paths, key=lambda path: (path.stat().st_mtime_ns, str(path)), reverse=True):
        try:
            yield path, load_checkpoint(path).network().encode.GAME
        except CheckpointError:
            yield path, None
