"""What commands find in the current folder: networks and rows; the short names of players."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click

from ckai.cli.shared.output import count_text
from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.models.pretrained import CKAI
from ckai.rl.engine.limit import ALPHA_BETA

STRONGEST = f"{ALPHA_BETA}{CKAI}"
"""The player that explains, judges and solves."""
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


def networks_in() -> Iterator[tuple[Path, str]]:
    """Yield `pretrained.ckpt` and the best networks of runs that can be read, newest first, with the game."""
    paths = [path for place in NETWORK_PATTERNS for path in Path().glob(place) if path.is_file()]
    if not paths:
        return
    from ckai.models.checkpoint import CheckpointError, load_checkpoint  # PyTorch takes seconds to import

    for path in sorted(paths, key=lambda path: (path.stat().st_mtime_ns, str(path)), reverse=True):
        with suppress(CheckpointError):
            yield path, load_checkpoint(path).network().encode.GAME


def short_name(text: str) -> str:
    """Return the text of a player without folders, of a network its run and generation."""
    text = re.sub(r"[^\s:]*/(?=[^/\s]+/[^/\s]+)", "", text.replace("/networks/", "/"))
    return text.replace("/best.ckpt", "")


def newest_rows() -> Path:
    """Return the newest data set in data/, and say on standard error that it was taken."""
    from ckai.datasets.reader import RowFile, newest_dataset

    path = newest_dataset(Path("data"))
    rows = count_text(RowFile(path).rows, "row")
    click.echo(f"ckai: taking {path}, the newest data set in data/, {rows}", err=True)
    return path


def row_files(*paths: Path) -> list[Path]:
    """Return the Parquet files that paths stand for: themselves, or the shards of a run, oldest first."""
    from ckai.datasets.reader import check_dataset
    from ckai.datasets.schema import DatasetError
    from ckai.rl.run.run import Run

    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            check_dataset(path)
            found.append(path)
        elif files := Run.open(path).shards():
            found += files
        else:
            raise DatasetError(
                f"{path}: expected a finished generation, found none; `ckai selfplay --run {path}` continues"
            )
    return found
