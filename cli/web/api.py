"""What the page asks for, apart from searches."""

from collections.abc import Callable
from typing import Any

from ckai.cli.playing.record import GAMES
from ckai.cli.playing.saved import game_named, list_games, saved_games
from ckai.cli.web import files, runs
from ckai.cli.web.rules import Asked, look, played
from ckai.cli.web.server import Server
from ckai.rl.games.registry import DEFAULT_GAME, get_game


def _players(server: Server) -> dict[str, Any]:
    """Return who can play and analyse; once that is known, load what the first analysis needs."""
    if "players" not in vars(server):  # later nobody waits for the search that runs
        server.searches.thread.submit(lambda: server.players).result()
        server.searches.thread.submit(server.engine, "", DEFAULT_GAME, dict)
    return {"players": server.players}


def _experts(server: Server, **place: Any) -> dict[str, Any]:
    """Return what was played in a position in the data set at hand."""
    (spec, game), data = played(Asked(**place)), server.experts
    if data is None or data.game != spec.name:
        return {"source": None, "rows": []}
    found = data.played(game.position)
    rows = [{"moves": list(map(str, each.moves)), "times": each.times, "score": each.score} for each in found]
    return {"source": data.path.name, "rows": rows}


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


def _run_game(server: Server, **which: Any) -> dict[str, Any]:
    game, text = runs.game_text(**which)
    return files.read_tree(text.encode(), get_game(game))


REQUESTS: dict[str, Callable[..., dict[str, Any]]] = {
    "players": _players,
    "legal": lambda server, **place: look(*played(Asked(**place))),
    "experts": _experts,
    "ballots": lambda server: {"lines": DEFAULT_GAME.ballot},
    "save": lambda server, game, **file: {"name": files.save(spec=get_game(game), **file)},
    "games": lambda server: {"rows": saved_games()},
    "game": _saved_game,
    "pdn": lambda server, text: {"rows": list_games(text.encode())},
    "read": lambda server, text: _read(server, text.encode()),
    "runs": lambda server, run="": runs.follow(run),
    "run_game": _run_game,
}
"""What answers each request; its arguments are the fields."""
