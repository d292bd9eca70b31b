"""One game of a file as the page gets it, and a game of the page as a file."""

import io
import tempfile
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ckai.cli.playing.saved import GAMES, game_named, new_file
from ckai.cli.web.rules import steps_of
from ckai.datasets.files import write_whole
from ckai.pdn import PdnMove, read_games
from ckai.rl.games.registry import DEFAULT_GAME, get_game

SIGNS = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
"""NAGs of the signs after a move."""


def read_tree(text: bytes, number: int = 1) -> dict[str, Any]:
    """Return a game of a text as the page gets it.

    Returns:
        `game`; `headers`, pairs; `start`, its first position as text, empty for the usual one; `result`;
        `comments` before the first move; `line`: for each move its text, comments, nags and variations, in
        games whose rules the page does not know its step; `problem`, why it ends early, or empty.
    """
    spec = get_game(game_named(text))
    found: dict[str, Any] = {"game": spec.name, "start": ""}
    if spec == DEFAULT_GAME:
        game = next(islice(read_games(io.BytesIO(text), "text"), number - 1, None), None)
        if game is None or game.rejected:
            raise ValueError(str(game.problem) if game else f"expected game {number}, found no such game")
        first, headers = game.start, list(game.headers)
        found |= {"result": game.result or "*", "problem": str(game.problem or "")}
        found |= {"comments": game.comments, "line": _line(game.moves, game.final_comments)}
    else:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "game")
            path.write_bytes(text)
            played, found["problem"] = spec.read_game(path, number)
        first, headers = played.positions[0], list(played.headers.items())
        found |= {"result": played.headers.get("Result", "*"), "line": steps_of(spec, first, played.moves)}
    if first.key != spec.position().key:
        found["start"] = spec.position_text(first)
    return found | {"headers": headers}


def _line(moves: Sequence[PdnMove], last: Sequence[str]) -> list[dict[str, Any]]:
    """Return moves with what is written about them, and about the last one."""
    line: list[dict[str, Any]] = []
    for each in moves:
        sign = SIGNS.get(each.marks)
        comments = [each.marks if sign is None else "", *each.comments]
        variations = [{"comments": v.comments, "line": _line(v.moves, [])} for v in each.variations]
        nags = [*([] if sign is None else [sign]), *each.nags]
        line.append({"move": str(each.move), "comments": comments, "nags": nags, "variations": variations})
    if line:
        line[-1]["comments"] += last
    return line


def saved_game(name: str, number: int) -> dict[str, Any]:
    """Return a saved game; `text` is all that its file holds, if that is this game alone."""
    path = GAMES / name
    if path.name != name or path.suffix != ".pdn" or "\0" in name or not path.is_file():
        raise ValueError(f"expected a file of games/, found {name[:60]!r}")
    body = path.read_bytes()
    alone = body.count(b"[Result ") <= 1
    return read_tree(body, number) | {"text": body.decode(errors="replace") if alone else ""}


def save(text: str, before: str = "", name: str = "") -> str:
    """Write a game, as PDN, to `games/`, and return the name of its file.

    It replaces `before`, what the page saved last of this game, in the file `name`. If that holds something
    else by now, the game gets a new file.
    """
    found = read_tree(text.encode())
    if found["problem"] or not found["line"]:
        raise ValueError(found["problem"] or "expected a game with a move, found none")
    path = GAMES / name
    same = before and Path(name).name == name and path.is_file() and path.read_bytes() == before.encode()
    path = path if same else new_file()
    write_whole(path, text)
    return path.name
