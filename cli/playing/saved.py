"""The games that files hold, as lists: of any PDN text, and of the folder of saved games."""

import io
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from ckai.cli.playing.record import GAMES
from ckai.datasets.games import PdnGames
from ckai.pdn.stream import read_chunks
from ckai.rl.games.registry import DEFAULT_GAME, game_names

MAX_VALUE, MAX_GAMES = 200, 50_000
"""Most characters of a header in a list, most games of a list."""
Row: TypeAlias = dict[str, Any]
"""A game in a list: number, black, white, result, event, date, opening, plies; `start`, its first byte;
`problem`, why it can be read only in part or not at all, empty if it can."""

_SHOWN = ("black", "white", "event", "date", "opening", "result")


def list_games(data: bytes) -> list[Row]:
    """Return the games of a PDN text.

    Raises:
        ValueError: there are more than `MAX_GAMES`, or none.
    """
    rows: list[Row] = []
    for chunk in read_chunks(io.BytesIO(data)):
        games = PdnGames(chunk, 1)
        if len(rows) + len(chunk.games) > MAX_GAMES:
            raise ValueError(f"expected at most {MAX_GAMES:,} games, found more; split the file")
        headers = games.headers.select([*_SHOWN, "plies"]).to_pylist()
        for g, (header, begin) in enumerate(zip(headers, chunk.begins.tolist(), strict=True)):
            problem = "" if games.played.whole[g] else str(games.read(g).problem)
            texts = {name: (header[name] or "")[:MAX_VALUE] for name in _SHOWN}
            row = {"number": len(rows) + 1, **texts, "plies": header["plies"]}
            rows.append(row | {"problem": problem[:MAX_VALUE], "start": chunk.offset + begin})
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
    return rows[:MAX_GAMES]


@lru_cache(4096)
def _saved(path: Path, changed: int) -> list[Row]:
    data = path.read_bytes()
    if (game := game_named(data)) != DEFAULT_GAME.name:
        text = data.decode(errors="replace")
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]$', text, re.MULTILINE))
        known = {name: tags.get(name.capitalize(), "") for name in _SHOWN}
        plies = len(re.sub(r"^\[.*\]$|\d+\.", "", text, flags=re.MULTILINE).split()) - 1
        return [{"number": 1, **known, "game": game, "plies": plies, "problem": ""}]
    try:
        return [row | {"game": game} for row in list_games(data) if row["plies"]]
    except (ValueError, OSError):  # something else has that name
        return []


def game_named(text: bytes) -> str:
    """Return the kind of game of a text, by its tag Game; without one, checkers."""
    found = re.search(rb'^\[Game "(\w+)"\]\r?$', text, re.MULTILINE)
    return found[1].decode() if found else DEFAULT_GAME.name
