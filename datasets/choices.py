"""Names that settings and commands choose from; light, so that help needs no numpy."""

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

DEFAULT_GAME_NAME = "checkers"
"""The game of rows whose file names none, and what is played where nobody says."""

GAMES = "ckai.games"
"""Group of the entry points of games, each a `GameSpec`."""
NETWORKS = "ckai.networks"
"""Group of the entry points of architectures, each a subclass of `Network`."""


@cache
def entry_points_of(group: str) -> "dict[str, EntryPoint]":
    """Return the entry points of a group by name; imports none of them. Read once: that takes a while."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=group)}


def load_entry(group: str, name: str) -> Any:
    """Import what an entry point stands for; ValueError if it cannot be, as another package may be broken."""
    entry = entry_points_of(group)[name]
    try:
        return entry.load()
    except Exception as error:
        what, reason = group.removeprefix("ckai.").removesuffix("s"), f"{type(error).__name__}: {error}"
        raise ValueError(
            f"{what} {name}, entry point {entry.value}: cannot be imported ({reason})"
        ) from error
