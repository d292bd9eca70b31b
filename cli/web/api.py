"""What the page asks for, apart from searches."""

from collections.abc import Callable
from typing import Any

from ckai.cli.playing.record import GAMES
from ckai.cli.playing.saved import game_named, list_games, saved_games
from ckai.cli.web import files
from ckai.cli.web.rules import Asked, look, played
from ckai.cli.web.server import Server
from ckai.rl.games.registry import DEFAULT_GAME, get_game


def _players(server: Server) -> dict[str, Any]:
    """Return who can play and analyse; once that is known, load what the first analysis needs."""
    if "players" not in vars(server):  # later nobody waits for the search that runs
        server.searches.thread.submit(lambda: server.players).result()
        server.searches.thread.submit(server.engine, "", DEFAULT_GAME, dict)
    return {"players": server.players}


def _read(server: Server, body: bytes, number: int = 1) -> dict[str, Any]:
    return files.read_tree(body, get_game(game_named(body)), number)


def _saved_game(server: Server, name: str, number: int) -> dict[str, Any]:
    """Return a saved game; `text` is all that its file holds, if that is this game alone."""
    path = GAMES / name
    if path.name != name or path.suffix != ".pdn" or "\0" in name or not path.is_file():
        raise ValueError(f"expected a file of games/, found {name[:60]!r}")
    body = path.read_bytes()
    alone = body.count(b"[Result ") <= 1
    return _read(server, body, number) | {"text": body.decode(errors="replace") if alone else ""}


REQUESTS: dict[str, Callable[..., dict[str, Any]]] = {
    "players": _players,
    "legal": lambda server, **place: look(*played(Asked(**place))),
    "ballots": lambda server: {"lines": DEFAULT_GAME.ballot},
    "save": lambda server, game, **file: {"name": files.save(spec=get_game(game), **file)},
    "games": lambda server: {"rows": saved_games()},
    "game": _saved_game,
    "pdn": lambda server, text: {"rows": list_games(text.encode())},
    "read": lambda server, text: _read(server, text.encode()),
}
"""What answers each request; its arguments are the fields."""
