"""What `Game.from_pdn` and `Game.to_pdn` call; importing `ckai.pdn` registers it."""

import io
from collections.abc import Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from ckai.game import Game
from ckai.game.notation import Source, TextFormat, register_format
from ckai.pdn.errors import PdnError
from ckai.pdn.game import from_game
from ckai.pdn.reader import read_games
from ckai.pdn.writer import write_game


def _read(source: Source, number: int, limits: Mapping[str, Any]) -> Game:
    if number < 0:
        raise ValueError(f"expected a game number >= 0, found {number}")
    name, binary = "text", source
    if isinstance(source, str):
        binary = io.BytesIO(source.encode())
    elif isinstance(source, bytes):
        binary = io.BytesIO(source)
    elif isinstance(source, Path):
        name = str(source)
    else:
        name = str(getattr(source, "name", name))
        if isinstance(source, io.TextIOBase):
            binary = io.BytesIO(source.read().encode())
    count = 0
    with closing(read_games(binary, name)) as games:  # type: ignore[arg-type, type-var]
        for game in islice(games, number + 1):
            count += 1
    if count <= number:
        hint = ": give a file's path as a pathlib.Path" if isinstance(source, str) and count == 0 else ""
        raise PdnError(f"expected a game {number}, found {count} games{hint}", name)
    if game.problem is not None:
        raise game.problem
    return game.play(**limits)


def _write(game: Game, headers: Mapping[str, str], result: str) -> str:
    return write_game(from_game(game, dict(headers), result))


register_format("pdn", TextFormat(_read, _write))
