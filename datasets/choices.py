"""Names that settings and commands choose from; light, so that help needs no numpy."""

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

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


def load_game_entry(name: str) -> Any:
    """Import what the entry point of an installed game stands for.

    Raises:
        ValueError: it cannot be imported, as another package may be broken; says which one and why.
    """
    entry = game_entry_points()[name]
    try:
        return entry.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise ValueError(f"game {name}, entry point {entry.value}: cannot be imported ({reason})") from error
