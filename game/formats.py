"""How `Game.from_pdn` and `Game.to_pdn` reach `ckai.pdn`, which imports this package.

The rules must not import a text format, and a user should not have to import one before calling a method. So
a format registers its two functions here, and `find_format` imports the package `ckai.<name>` on first use if
nobody has: the way `codecs.lookup` finds encodings.
"""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeAlias

TextSource: TypeAlias = "str | bytes | Path | IO[str] | IO[bytes]"
"""Text itself (str or bytes), the path of a file (`pathlib.Path` only), or an open file."""


class TextFormat(NamedTuple):
    """The reader and the writer of a text format.

    A game is a `ckai.game.Game`, which this module must not import.
    """

    read: Callable[["TextSource", int, Mapping[str, Any]], Any]
    """(source, 0-based number of the game, keyword arguments for `Game`) -> game, or ValueError."""
    write: Callable[[Any, Mapping[str, str], str], str]
    """(game, headers, result) -> text; ValueError for an unknown result."""


_FORMATS: dict[str, TextFormat] = {}


def register_format(name: str, text_format: TextFormat) -> None:
    """Make `text_format` the one that `find_format(name)` returns."""
    _FORMATS[name] = text_format


def find_format(name: str) -> TextFormat:
    """The registered format, after importing `ckai.<name>` if it is not registered yet.

    Raises:
        LookupError: if no package registers it.
    """
    if name not in _FORMATS:
        try:
            importlib.import_module(f"ckai.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"ckai.{name}":
                raise
    if name not in _FORMATS:
        raise LookupError(f"expected a package ckai.{name} that registers the format {name!r}, found none")
    return _FORMATS[name]
