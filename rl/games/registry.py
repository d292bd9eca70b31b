"""Registry of the games by name.

A game is found through the entry points of the group `ckai.games`, one line per game:

    [project.entry-points."ckai.games"]
    mygame = "mypackage.mygame:SPEC"

Any installed package may have such entry points; a program may also call `register_game` itself.
"""

from ckai.datasets.choices import DEFAULT_GAME_NAME, GAMES, entry_points_of, load_entry
from ckai.rl.games.contract import not_implemented
from ckai.rl.games.spec import GameSpec

_GAMES: dict[str, GameSpec] = {}


def register_game(spec: GameSpec) -> GameSpec:
    """Register a game under its name, replacing any game of that name, and return it.

    Raises:
        ValueError: its rules lack a function that every game must implement; lists them.
    """
    if missing := not_implemented(spec.rules):
        raise ValueError(
            f"game {spec.name}: expected an implementation of every function of ckai.rl.games.contract that "
            f"has no default, found none of {', '.join(missing)}"
        )
    _GAMES[spec.name] = spec
    return spec


def game_names() -> list[str]:
    """Return the names of all games, sorted; imports none of them."""
    return sorted({*_GAMES, *entry_points_of(GAMES)})


def get_game(name: str) -> GameSpec:
    """Return the game with a name.

    Raises:
        ValueError: there is none, and the message lists the names; or it cannot be imported.
    """
    if name not in _GAMES:
        if name not in game_names():
            raise ValueError(f"expected one of the games {', '.join(game_names())}, found {name!r}")
        spec, entry = load_entry(GAMES, name), entry_points_of(GAMES)[name].value
        if not isinstance(spec, GameSpec) or spec.name != name:
            raise ValueError(
                f"entry point {name} = {entry!r}: expected a GameSpec named {name}, found {spec!r}"
            )
        register_game(spec)
    return _GAMES[name]


DEFAULT_GAME: GameSpec = get_game(DEFAULT_GAME_NAME)
"""The game where none is named: checkers."""
