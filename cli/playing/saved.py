"""The games that files hold, as lists: of any PDN text, and of the folder of saved games."""

import io
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ckai.cli.playing.record import GAMES
from ckai.pdn.kernels import FINE, GAME, make_columns, replay_chunk
from ckai.pdn.reader import build_game
from ckai.pdn.segments import BLACK, DATE, EVENT, OPENING, RESULT_TEXT, WHITE
from ckai.pdn.stream import Chunk, first_positions, read_chunks
from ckai.rl.games.registry import DEFAULT_GAME, game_names

MAX_VALUE, MAX_GAMES = 200, 50_000
"""Most characters of a header in a list, most games of a list."""
ROWS_AT_ONCE = 1 << 14
"""Rows that are replayed at once."""
Row: TypeAlias = dict[str, Any]
"""A game in a list: number, black, white, result, event, date, opening, plies; `start`, its first byte;
`problem`, why it can be read only in part or not at all, empty if it can."""


def list_games(data: bytes, *, openings: bool = False) -> list[Row]:
    """Return the games of a PDN text.

    Args:
        data: the text.
        openings: name the openings of games whose tags do not.

    Raises:
        ValueError: there are more than `MAX_GAMES`, or none.
    """
    rows: list[Row] = []
    for chunk in read_chunks(io.BytesIO(data)):
        starts, refused = first_positions(chunk)
        games = _replayed(chunk, starts)
        if len(rows) + len(games) > MAX_GAMES:
            raise ValueError(f"expected at most {MAX_GAMES:,} games, found more; split the file")
        for g, found in enumerate(games):
            tags = {name: (chunk.tag(g, which) or "")[:MAX_VALUE] for name, which in _TAGS.items()}
            problem = ""
            if found["problem"] != FINE or (openings and not tags["opening"]):
                game = build_game(chunk, g, starts[g], refused.get(g), "")
                problem = "" if game.problem is None else str(game.problem)[:MAX_VALUE]
                tags["opening"] = tags["opening"] or DEFAULT_GAME.opening_name(game.play()) or ""
            rows.append(
                {"number": len(rows) + 1, **tags, "result": RESULT_TEXT[int(found["result"])] or "*"}
                | {"plies": int(found["plies"]), "problem": problem}
                | {"start": chunk.offset + int(chunk.segments[g]["start"])}
            )
    if not rows:
        raise ValueError("expected games in PDN, found none")
    return rows


_TAGS = {"black": BLACK, "white": WHITE, "event": EVENT, "date": DATE, "opening": OPENING}


def _replayed(chunk: Chunk, starts: NDArray[Any]) -> NDArray[Any]:
    """Return `[G]` GAME: how far each game of a chunk can be played."""
    games = np.zeros(len(chunk.segments), GAME)
    if len(games):
        longest = int((chunk.segments["last"] - chunk.segments["first"]).max())
        columns = make_columns(max(ROWS_AT_ONCE, 2 * longest + 1024))
        done = 0
        while done < len(games):
            done, _ = replay_chunk(chunk.read, chunk.segments, starts, games, columns, done, 0)
    return games


def saved_games() -> list[Row]:
    """Return the games in `games/`, the newest file first; `file` names the file, `game` the kind of game."""
    rows: list[Row] = []
    paths = [path for path in GAMES.glob("*.pdn") if path.is_file()]
    for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        found = _saved(path, path.stat().st_mtime_ns, path.stat().st_size)
        rows += [row | {"file": path.name} for row in found if row["game"] in game_names()]
    return rows[:MAX_GAMES]


@lru_cache(4096)
def _saved(path: Path, changed: int, size: int) -> list[Row]:
    data = path.read_bytes()
    game, text = game_named(data), data.decode(errors="replace")
    if game != DEFAULT_GAME.name:
        tags = dict(re.findall(r'^\[(\w+) "(.*)"\]$', text, re.MULTILINE))
        known = {name: tags.get(name.capitalize(), "") for name in (*_TAGS, "result")}
        plies = len(re.sub(r"^\[.*\]$|\d+\.", "", text, flags=re.MULTILINE).split()) - 1
        return [{"number": 1, **known, "game": game, "plies": plies, "problem": ""}]
    try:
        return [row | {"game": game} for row in list_games(data, openings=True) if row["plies"]]
    except (ValueError, OSError):  # something else has that name
        return []


def game_named(text: bytes) -> str:
    """Return the kind of game of a text, by its tag Game; without one, checkers."""
    found = re.search(rb'^\[Game "(\w+)"\]\r?$', text, re.MULTILINE)
    return found[1].decode() if found else DEFAULT_GAME.name
