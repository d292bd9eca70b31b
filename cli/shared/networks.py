"""The networks that commands find in the current folder, and their names."""

from collections.abc import Iterator
from pathlib import Path

import click

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.models.pretrained import CKAI
from ckai.rl.engine.text import ALPHA_BETA, GTP, HUB

NETWORK_PATTERNS = ("pretrained.ckpt", "runs/*/best.ckpt")
NO_NETWORK = ("rollout", "uniform")
"""Players without a network: random playouts, and uniform priors with value 0."""


def newest_network(game: str = DEFAULT_GAME_NAME) -> str:
    """Return the newest of `pretrained.ckpt` and the best networks of runs that plays a game, and say so.

    `CKAI` where there is none that plays checkers; a ValueError for another game.
    """
    for path, other in networks_in():
        if other == game:
            click.echo(f"the newest network here is {path}", err=True)
            return str(path)
    if game == DEFAULT_GAME_NAME:
        return CKAI
    raise ValueError(
        f"expected {' or '.join(NETWORK_PATTERNS)} here that plays {game}, found none; run "
        "`ckai pretrain`, or give --engine CHECKPOINT or --engine rollout"
    )


def networks_in() -> Iterator[tuple[Path, str | None]]:
    """Yield `pretrained.ckpt` and the best networks of runs, newest first, with the game: None if damaged."""
    paths = [path for place in NETWORK_PATTERNS for path in Path().glob(place) if path.is_file()]
    if not paths:
        return
    from ckai.models.checkpoint import CheckpointError, load_checkpoint  # PyTorch takes seconds to import

    for path in sorted(paths, key=lambda path: (path.stat().st_mtime_ns, str(path)), reverse=True):
        try:
            yield path, load_checkpoint(path).network().encode.GAME
        except CheckpointError:
            yield path, None


def short_name(text: str) -> str:
    """Return the text of a player without folders, of a network its run and generation."""

    def short(path: str) -> str:
        return "/".join(path.replace("/networks/", "/").split("/")[-2:]).replace("/best.ckpt", "")

    kind = next((each for each in (HUB, GTP, ALPHA_BETA) if text.startswith(each)), "")
    rest = text.removeprefix(kind)
    return kind + (short(rest) if kind in ("", ALPHA_BETA) else " ".join(map(short, rest.split(" "))))
