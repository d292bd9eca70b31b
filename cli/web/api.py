"""What the page asks for: a function for each address of `/api`; its arguments are the request's fields."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field, validate_call

from ckai.cli.playing.record import GAMES
from ckai.cli.playing.saved import game_named, list_games, saved_games
from ckai.cli.playing.start import ballot_lines
from ckai.cli.web import files, runs
from ckai.cli.web.rules import Moves, Start, Word, look, played
from ckai.cli.web.server import Server

Pdn = Annotated[str, Field(max_length=2_000_000)]
Number = Annotated[int, Field(ge=0, le=10_000_000)]


def legal(server: Server, *, game: Word, start: Start = "", moves: Moves = ()) -> Any:
    """Return what the page shows of a position, see `look`."""
    spec = server.spec(game)
    return look(spec, played(spec, start, moves))


def experts(server: Server, *, game: Word, start: Start = "", moves: Moves = ()) -> Any:
    """Return what was played in a position in the data set at hand."""
    spec, data = server.spec(game), server.experts
    if data is None or data.game != spec.name:
        return {"source": None, "rows": []}
    position = played(spec, start, moves).position
    found = data.played(position)
    rows = [{"moves": list(map(str, each.moves)), "times": each.times, "score": each.score} for each in found]
    return {"source": data.path.name, "rows": rows}


def save(server: Server, *, game: Word, text: Pdn, before: Pdn = "", name: Word = "") -> Any:
    """Write a game to `games/`, see `ckai.cli.web.files.save`."""
    return {"name": files.save(text, before, name, server.spec(game))}


def players(server: Server) -> Any:
    """Return who can play and analyse, once that is known."""
    server.ready.wait()
    return {"players": server.offered, "problem": server.problem}


def ballots(server: Server, *, game: Word) -> Any:
    """Return the moves of every balanced three-move opening."""
    return {"lines": ballot_lines(server.spec(game))}


def pdn(server: Server, *, body: bytes) -> Any:
    """Return the list of the games of a text."""
    return {"rows": list_games(body)}


def read(server: Server, *, body: bytes) -> Any:
    """Return the first game of a text."""
    return files.read_tree(body, server.spec(game_named(body)))


def games(server: Server) -> Any:
    """Return the list of saved games."""
    return {"rows": saved_games()}


def game(server: Server, *, name: Word, number: Number = 1) -> Any:
    """Return a saved game; `text` is all that its file holds, if that is this game alone."""
    path = GAMES / name
    if path.name != name or path.suffix != ".pdn" or "\0" in name or not path.is_file():
        raise ValueError(f"expected a file of games/, found {name[:60]!r}")
    body = path.read_bytes()
    found = files.read_tree(body, server.spec(game_named(body)), number)
    alone = body.count(b"[Result ") <= 1
    return found | {"text": body.decode(errors="replace") if alone else ""}


def runs_(server: Server) -> Any:
    """Return the list of runs."""
    return {"runs": runs.list_runs(server.folder)}


def run(server: Server, *, run: Word) -> Any:
    """Return all that the page shows of a run."""
    return runs.describe_run(server.folder, run)


def run_game(server: Server, *, run: Word, generation: Number, index: Number) -> Any:
    """Return a game of a run."""
    name, text = runs.game_text(server.folder, run, generation, index)
    return files.read_tree(text.encode(), server.spec(name))


def _named(*calls: Any) -> dict[str, Any]:
    """Return functions by name, their arguments checked."""
    check = validate_call(config=ConfigDict(arbitrary_types_allowed=True))
    return {call.__name__.removesuffix("_"): check(call) for call in calls}


READS = _named(players, ballots, games, game, runs_, run, run_game)
"""Requests by GET, with their fields in the query."""
QUESTIONS = _named(legal, experts, save)
"""Requests by POST, with their fields in a JSON object."""
BODIES = _named(pdn, read)
"""Requests by POST, whose body is a text of games."""
