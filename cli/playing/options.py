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

seed_option: Option = click.option(
    "--seed", type=click.IntRange(0), help="Seed of the search and of random choices.  [default: random]"
)


def data_set(spec: "GameSpec") -> "ExpertMoves | None":
    """Return the newest data set in data/, in which moves are counted, or None."""
    from ckai.cli.playing.experts import ExpertMoves
    from ckai.datasets.reader import newest_dataset
    from ckai.datasets.schema import DatasetError

    try:
        return (
            ExpertMoves(newest_dataset(Path("data")), spec.name) if spec.name == DEFAULT_GAME_NAME else None
        )
    except DatasetError:
        return None
