"""Options that games have in the terminal and in the browser."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.datasets.choices import DEFAULT_GAME_NAME

if TYPE_CHECKING:
    from ckai.cli.playing.experts import ExpertMoves
    from ckai.rl.games.spec import GameSpec

Option = Callable[[Any], Any]

vary_option: Option = click.option(
    "--vary",
    type=click.IntRange(0),
    default=8,
    show_default=True,
    help="Opening plies in which the engine may play moves nearly as good as the best.",
)
seed_option: Option = click.option(
    "--seed", type=click.IntRange(0), help="Seed of the search and of random choices.  [default: random]"
)
experts_option: Option = click.option(
    "--games",
    "experts",
    type=click.Path(path_type=Path),
    metavar="FILE.parquet",
    help="Data set in which moves are counted.  [default: the newest in data/]",
)
"""`--games`; pass the value to `data_set`."""


def data_set(path: Path | None, spec: "GameSpec") -> "ExpertMoves | None":
    """Return the data set of `--games`, the newest without one, or None.

    Raises:
        BadParameter: there is no such file.
    """
    from ckai.cli.playing.experts import ExpertMoves
    from ckai.datasets.reader import newest_dataset
    from ckai.datasets.schema import DatasetError

    if path is not None:
        if not path.is_file():
            raise click.BadParameter(f"{path}: expected a data set, found no such file", param_hint="--games")
        return ExpertMoves(path, spec.name)
    try:
        return (
            ExpertMoves(newest_dataset(Path("data")), spec.name) if spec.name == DEFAULT_GAME_NAME else None
        )
    except DatasetError:
        return None
