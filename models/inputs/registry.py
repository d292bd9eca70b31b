"""Encodings by name: of checkers, and what the modules of games and networks register.

Those modules are found by the entry points of the groups `ckai.games` (see `ckai.rl.games.registry`) and
`ckai.networks` (see `ckai.models.registry`), so a checkpoint of any installed game can be read without
importing the game first.
"""

from collections.abc import Callable
from typing import TypeVar

from ckai.datasets.choices import GAMES, NETWORKS, entry_points_of, load_entry
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
    """Return the names of all encodings, also of installed games and networks."""
    _load_packages()
    return list(_ENCODINGS)


def encoding_type(name: str) -> type[Encoding]:
    """Return the class of an encoding.

    Raises:
        ValueError: no encoding has this name; lists all names.
    """
    if name not in _ENCODINGS:
        problems = _load_packages()
        if name not in _ENCODINGS:
            expected = f"expected one of the encodings {', '.join(_ENCODINGS)}, found {name!r}"
            raise ValueError("; ".join([expected, *problems]))
    return _ENCODINGS[name]


def _load_packages() -> list[str]:
    """Import installed games and networks, which register their encodings; return why some cannot be."""
    problems = []
    for group in (GAMES, NETWORKS):
        for name in entry_points_of(group):
            try:
                load_entry(group, name)
            except ValueError as error:
                problems.append(str(error))
    return problems
