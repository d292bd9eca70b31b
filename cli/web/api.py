"""What the page asks for: a function for each kind of request; its arguments are the request's fields."""

from typing import Any

from pydantic import ConfigDict, validate_call

from ckai.cli.playing.record import GAMES
from ckai.cli.playing.saved import game_named, list_games, saved_games
from ckai.cli.playing.start import ballot_lines
from ckai.cli.web import files, runs
from ckai.cli.web.rules import Place, look, named, played
from ckai.cli.web.server import Server


def legal(server: Server, **place: Any) -> Any:
    """Return what the page shows of a position, see `look`."""
    return look(*played(server.games, Place(**place)))


def experts(server: Server, **place: Any) -> Any:
    """Return what was played in a position in the data set at hand."""
    (spec, game), data = played(server.games, Place(**place)), server.experts
    if data is None or data.game != spec.name:
        return {"source": None, "rows": []}
    found = data.played(game.position)
    rows = [{"moves": list(map(str, each.moves)), "times": each.times, "score": each.score} for each in found]
    return {"source": data.path.name, "rows": rows}


def save(server: Server, *, game: str, text: str, before: str = "", name: str = "") -> Any:
    """Write a game to `games/`, see `ckai.cli.web.files.save`."""
    return {"name": files.save(text, before, name, named(server.games, game))}


def players(server: Server) -> Any:
    """Return who can play and analyse, once that is known."""
    return {"players": server.players.result()}


def ballots(server: Server, *, game: str) -> Any:
    """Return the moves of every balanced three-move opening."""
    return {"lines": ballot_lines(named(server.games, game))}


def pdn(server: Server, *, text: str) -> Any:
    """Return the list of the games of a text."""
    return {"rows": list_games(text.encode())}


def read(server: Server, *, text: str) -> Any:
    """Return the first game of a text."""
    return _tree(server, text.encode())


def _tree(server: Server, body: bytes, number: int = 1) -> Any:
    return files.read_tree(body, named(server.games, game_named(body)), number)


def games(server: Server) -> Any:
    """Return the list of saved games."""
    return {"rows": saved_games()}


def game(server: Server, *, name: str, number: int = 1) -> Any:
    """Return a saved game; `text` is all that its file holds, if that is this game alone."""
    path = GAMES / name
    if path.name != name or path.suffix != ".pdn" or "\0" in name or not path.is_file():
        raise ValueError(f"expected a file of games/, found {name[:60]!r}")
    body = path.read_bytes()
    alone = body.count(b"[Result ") <= 1
    return _tree(server, body, number) | {"text": body.decode(errors="replace") if alone else ""}


def runs_(server: Server, *, run: str = "") -> Any:
    """Return the list of runs, and all that the page shows of one: `run`, or else the newest."""
    rows = runs.list_runs()
    row = next((each for each in rows if each["run"] == run), *rows[:1])
    return {"runs": rows, "run": row and runs.describe_run(row)}


def run_game(server: Server, *, run: str, generation: int, index: int) -> Any:
    """Return a game of a run."""
    name, text = runs.game_text(run, generation, index)
    return files.read_tree(text.encode(), named(server.games, name))


_check = validate_call(config=ConfigDict(arbitrary_types_allowed=True, strict=True))
REQUESTS: dict[str, Any] = {
    call.__name__.removesuffix("_"): _check(call)
    for call in (legal, experts, save, players, ballots, pdn, read, games, game, runs_, run_game)
}
