"""Names that settings and commands choose from; light, so that help needs no numpy."""

from functools import cache
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

DEFAULT_GAME_NAME = "checkers"
"""The game of rows whose file names none, and what is played where nobody says."""
Positions = Literal["all", "distinct", "average"]
POSITIONS: tuple[str, ...] = get_args(Positions)
"""What is kept of repeated positions, see `ckai.datasets.merge`."""


@cache
def game_entry_points() -> "dict[str, EntryPoint]":
    """Return the entry points of the installed games by name, each of a `GameSpec`; imports no game.

    Read once per process: every reading looks through the metadata of all installed packages.
    """
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group="ckai.games")}
