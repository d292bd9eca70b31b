"""Encodings by name: those of checkers, of other installed games, and of installed packages.

The module of a game registers its encoding. Modules are found by the entry points of the group `ckai.games`
(see `ckai.rl.games.registry`), so a checkpoint of any installed game can be read without importing the game
first. A package with another encoding of a game announces it in the group `ckai.encodings`:

    [project.entry-points."ckai.encodings"]
    material = "mypackage.material:Material"
"""

from collections.abc import Callable
from typing import TypeVar

from ckai.datasets.choices import ENCODINGS, GAMES, entry_points_of, load_entry
from ckai.models.inputs.encodings import (
    DeepTacticsEncoding,
    Encoding,
    GridEncoding,
    MovesEncoding,
    PairsEncoding,
    PiecesEncoding,
    PlanesEncoding,
    TacticsEncoding,
)

_ENCODINGS: dict[str, type[Encoding]] = {
    "grid": GridEncoding,
    "planes": PlanesEncoding,
    "pieces": PiecesEncoding,
    "pairs": PairsEncoding,
    "moves": MovesEncoding,
    "tactics": TacticsEncoding,
    "tactics4": DeepTacticsEncoding,
}
_E = TypeVar("_E", bound=type[Encoding])


def register_encoding(name: str) -> Callable[[_E], _E]:
    """Register an `Encoding` under a name for network settings; a class decorator.

    Raises:
        ValueError: the class has no `VERSION` of its own, which checkpoints of it name.
    """

    def decorate(encoding: _E) -> _E:
        if "VERSION" not in vars(encoding):
            raise ValueError(f"encoding {name}: expected {encoding.__name__} to define VERSION, found none")
        _ENCODINGS[name] = encoding
        return encoding

    return decorate


def encoding_names() -> list[str]:
    """Return the names of all encodings, including those of installed packages."""
    _load_installed()
    return list(_ENCODINGS)


def encoding_type(name: str) -> type[Encoding]:
    """Return the class of an encoding.

    Raises:
        ValueError: no encoding has this name; lists all names.
    """
    if name not in _ENCODINGS:
        problems = _load_installed()
        if name not in _ENCODINGS:
            expected = f"expected one of the encodings {', '.join(_ENCODINGS)}, found {name!r}"
            raise ValueError("; ".join([expected, *problems]))
    return _ENCODINGS[name]


def _load_installed() -> list[str]:
    """Import the installed games and encodings, which register themselves; return why some cannot be."""
    problems = []
    for group in (GAMES, ENCODINGS):
        for name in entry_points_of(group):
            try:
                load_entry(group, name)
            except ValueError as error:
                problems.append(str(error))
    return problems
