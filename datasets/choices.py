"""Names whose modules are imported when they are used; light, so that `ckai --help` needs no numpy."""

import ast
import importlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
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


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` (PEP 562) of a package whose names are imported on first use.

    The names are those that its `__init__.py` imports for type checkers, as in `lazy_loader`.
    """

    @cache
    def homes() -> dict[str, str]:
        tree = ast.parse(Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8"))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        return {each.name: str(node.module) for node in imports for each in node.names}

    def get(name: str) -> Any:
        if name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(homes()[name]), name)
        setattr(sys.modules[package], name, value)  # the next access is an ordinary one
        return value

    return get, lambda: sorted({*vars(sys.modules[package]), *homes()})
