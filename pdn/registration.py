"""What `Game.from_pdn` and `Game.to_pdn` call; importing `ckai.pdn` registers it."""

import io
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from ckai.game import Game
from ckai.game.formats import TextFormat, TextSource, register_format
from ckai.pdn.errors import PdnError
from ckai.pdn.game import from_game
from ckai.pdn.reader import read_games
from ckai.pdn.writer import write_game


def _read(source: TextSource, number: int, limits: Mapping[str, Any]) -> Game:
    if number < 0:
        raise ValueError(f"expected a game number >= 0, found {number}")
    name = str(source) if isinstance(source, Path) else str(getattr(source, "name", "text"))
    data = source if isinstance(source, (str, bytes, Path)) else source.read()
    if isinstance(data, str):
        data = data.encode()
    games = read_games(data if isinstance(data, Path) else io.BytesIO(data), name)
    count = sum(1 for _ in islice(games, number))
    game = next(games, None)
    games.close()
    if game is None:
        hint = ": give a file's path as a pathlib.Path" if isinstance(source, str) and count == 0 else ""
        if not count:
            raise PdnError(f"expected games, found none{hint}", name)
        raise PdnError(f"expected a game number from 0 to {count - 1}, found {number}", name)
    if game.problem is not None:
        raise game.problem
    return game.play(**limits)


def _write(game: Game, headers: Mapping[str, str], result: str) -> str:
    return write_game(from_game(game, dict(headers), result))


register_format("pdn", TextFormat(_read, _write))
