"""The games by name.

A game is found through the entry points of the group `ckai.games`, one line a game:

    [project.entry-points."ckai.games"]
    mygame = "mypackage.mygame:SPEC"

The package that has the game may be any that is installed; a program may also call `register_game` itself.
"""

from functools import cache
from importlib.metadata import entry_points

from ckai.datasets.choices import DEFAULT_GAME_NAME
from ckai.models.inputs.registry import GAMES_GROUP
from ckai.rl.games.spec import GameSpec

_GAMES: dict[str, GameSpec] = {}


def register_game(spec: GameSpec) -> GameSpec:
    """Make a game known by its name, in place of one that had the name before; return it."""
    _GAMES[spec.name] = spec
    return spec


def game_names() -> list[str]:
    """Return the names of all games, sorted; imports none of them."""
    return sorted({*_GAMES, *entry_points(group=GAMES_GROUP).names})


@cache
def _load(name: str) -> GameSpec:
    (entry,) = entry_points(group=GAMES_GROUP, name=name)
    spec = entry.load()
    if not isinstance(spec, GameSpec) or spec.name != name:
        raise ValueError(
            f"entry point {name} = {entry.value!r}: expected a GameSpec named {name}, found {spec!r}"
        )
    return spec


def get_game(name: str) -> GameSpec:
    """Return the game of a name.

    Raises:
        ValueError: there is none; lists those there are.
    """
    if name in _GAMES:
        return _GAMES[name]
    if name not in game_names():
        raise ValueError(f"expected one of the games {', '.join(game_names())}, found {name!r}")
    return _load(name)


DEFAULT_GAME: GameSpec = get_game(DEFAULT_GAME_NAME)
"""What is played where nobody says: checkers."""
