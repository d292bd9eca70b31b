"""The folder of saved games, each in a file of its own; lists of games, there and in any PDN text."""

import io
import re
from contextlib import suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from ckai.datasets.convert import PdnGames
from ckai.pdn.sources import read_chunks
from ckai.rl.games.registry import DEFAULT_GAME, game_names
from ckai.rl.games.spec import parse_games

GAMES = Path("games")
"""The folder of games, under the current folder."""
MAX_VALUE = 200
"""Most characters of a header in a list."""
Row: TypeAlias = dict[str, Any]
"""A game in a list: number, black, white, result, event, date, opening, plies; `start`, its first byte."""

_SHOWN = ("black", "white", "event", "date", "opening", "result")


def list_games(data: bytes) -> list[Row]:
    """Return the games of a PDN text.

    Raises:
        ValueError: there are none.
    """
    rows: list[Row] = []
    for chunk in read_chunks(io.BytesIO(data)):
        games = PdnGames(chunk, 1)
        headers = games.headers.select([*_SHOWN, "plies"]).to_pylist()
        for header, begin in zip(headers, chunk.begins.tolist(), strict=True):
            texts = {name: (header[name] or "")[:MAX_VALUE] for name in _SHOWN}
            row = {"number": len(rows) + 1, **texts, "plies": header["plies"]}
            rows.append(row | {"start": chunk.offset + begin})
    if not rows:
        raise ValueError("expected games in PDN, found none")
    return rows


def saved_games() -> list[Row]:
    """Return the games in `games/`, the newest file first; `file` names the file, `game` the kind of game."""
    rows: list[Row] = []
    paths = [path for path in GAMES.glob("*.pdn") if path.is_file()]
    for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        found = _saved(path, path.stat().st_mtime_ns)
        rows += [row | {"file": path.name} for row in found if row["game"] in game_names()]
    return rows


@lru_cache(4096)
def _saved(path: Path, changed: int) -> list[Row]:
    data = path.read_bytes()
    if (game := game_named(data)) != DEFAULT_GAME.name:
        tags, words = next(parse_games(data.decode(errors="replace")))
        known = {name: tags.get(name.capitalize(), "") for name in _SHOWN}
        return [{"number": 1, **known, "game": game, "plies": len(words) - 1}]
    try:
        return [row | {"game": game} for row in list_games(data) if row["plies"]]
    except (ValueError, OSError):  # something else has that name
        return []


def game_named(text: bytes) -> str:
    """Return the kind of game of a text, by its tag Game; without one, checkers."""
    found = re.search(rb'^\[Game "(\w+)"\]\r?$', text, re.MULTILINE)
    return found[1].decode() if found else DEFAULT_GAME.name


def new_file() -> Path:
    """Create the next file of `games/`, `game-001.pdn` and so on, so that no other process can choose it."""
    GAMES.mkdir(parents=True, exist_ok=True)
    numbers = [int(p.stem[5:]) for p in GAMES.glob("game-*.pdn") if p.stem[5:].isdigit()]
    for number in count(max(numbers, default=0) + 1):
        path = GAMES / f"game-{number:03}.pdn"
        with suppress(FileExistsError):
            path.open("xb").close()
            break
    return path
