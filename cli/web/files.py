"""One game of a file as the page gets it, and a game of the page as a file."""

import io
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

from ckai.cli.playing.record import GAMES, Record
from ckai.cli.web.rules import steps_of
from ckai.pdn import PdnMove, read_games
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

SIGNS = {"!": 1, "?": 2, "!!": 3, "??": 4, "!?": 5, "?!": 6}
"""NAGs of the signs after a move."""


def read_tree(text: bytes, spec: GameSpec, number: int = 1) -> dict[str, Any]:
    """Return a game of a text as the page gets it.

    Returns:
        `game`; `headers`, pairs; `start`, its first position as text, empty for the usual one; `result`;
        `comment` before the first move; `line`: for each move its text, comment, nags and variations, in
        games whose rules the page does not know also its step; `problem`, why it ends early, or empty.

    Raises:
        ValueError: it cannot be read at all.
    """
    if spec != DEFAULT_GAME:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place, "game")
            path.write_bytes(text)
            loaded = spec.read_game(path, number)
        first, headers = loaded.game.positions[0], list(loaded.headers.items())
        line = [_plain(step["move"]) | step for step in steps_of(spec, first, loaded.game.moves)]
        found: dict[str, Any] = {
            "result": loaded.result,
            "comment": "",
            "line": line,
            "problem": loaded.problem,
        }
    else:
        game = next(islice(read_games(io.BytesIO(text), "text"), number - 1, None), None)
        if game is None or game.rejected:
            raise ValueError(str(game.problem) if game else f"expected game {number}, found no such game")
        first, headers = game.start, game.headers
        found = {"result": game.result or "*", "comment": " ".join(game.comments), "line": _line(game.moves)}
        found["problem"] = "" if game.problem is None else str(game.problem)
        if game.final_comments and game.moves:
            _add(found["line"][-1], " ".join(game.final_comments))
    usual = first.key == spec.position().key
    start = "" if usual else spec.position_text(first)
    return {"game": spec.name, "headers": [list(pair) for pair in headers], "start": start, **found}


def _plain(move: Any) -> dict[str, Any]:
    return {"move": str(move), "comment": "", "nags": [], "variations": []}


def _line(moves: list[PdnMove]) -> list[dict[str, Any]]:
    line = []
    for each in moves:
        signs = [SIGNS[each.marks]] if each.marks in SIGNS else []
        found = _plain(each.move) | {"nags": list(dict.fromkeys([*signs, *each.nags]))}
        unknown = [each.marks] if each.marks and not signs else []
        _add(found, " ".join([*unknown, *each.comments]))
        for other in each.variations:
            if other.moves:
                variation = _line(other.moves)
                _add(variation[-1], other.rest)
                comment = " ".join(other.comments)
                found["variations"].append({"comment": comment, "line": variation})
            else:
                _add(found, " ".join([*other.comments, other.rest]))
        line.append(found)
    return line


def _add(move: dict[str, Any], text: str) -> None:
    move["comment"] = " ".join(filter(None, [move["comment"], text]))


def save(text: str, before: str, name: str, spec: GameSpec) -> str:
    """Write a game to `games/`, and return the name of its file.

    Args:
        text: the game as PDN.
        before: what the page saved last of this game, which the text replaces; empty: nothing.
        name: the file that has it. If it holds something else by now, the game gets a new file.
        spec: the game.

    Raises:
        ValueError: the text is not one game with a move.
        OSError: it cannot be written.
    """
    found = read_tree(text.encode(), spec)
    if found["problem"] or not found["line"]:
        raise ValueError(found["problem"] or "expected a game with a move, found none")
    record, path = Record(), GAMES / name
    if name and before and Path(name).name == name and path.is_file():
        record.adopt(path, before)
    return record.write(text).name
