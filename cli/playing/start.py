"""Where a game begins: an opening, a ballot, a game of a file."""

import random
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ckai.cli.playing.sides import game_of
from ckai.cli.shared.games_file import expanded
from ckai.rl.games.spec import GameSpec, LoadedGame

BALLOT = "ballot"


@dataclass(frozen=True)
class FileGame:
    """A game of a file, and the moves of it that stand."""

    path: Path
    loaded: LoadedGame
    game: Any
    """The game up to the ply that was asked for."""

    @property
    def whole(self) -> bool:
        """Whether it can continue in its file: all of it was read and stands, and it has not ended."""
        loaded = self.loaded
        return self.game is loaded.game and loaded.result == "*" and not loaded.problem


def file_game(text: str, spec: GameSpec) -> FileGame:
    """Read a game of a file.

    Args:
        text: `FILE`, `FILE:N` or `FILE:N:PLY`, with the number of the game from 1 and the plies that stand; a
            file whose name ends like that may exist, too.
        spec: its rules.

    Raises:
        ValueError: there is no such file, user, game or ply, or it cannot be read.
        OSError: the file cannot be read.
    """
    path, numbers = text, ""
    if not expanded(text).is_file() and (parts := re.fullmatch(r"(.+?)((?::\d{1,9}){1,2})", text)):
        path, numbers = parts[1], parts[2]
    file = expanded(path)
    if not file.is_file():
        raise ValueError(f"{path}: expected a file of games, found no such file")
    number, *ply = [int(digits) for digits in numbers[1:].split(":")] if numbers else [1]
    if number < 1:
        raise ValueError(f"{text}: games count from 1, found {number}")
    loaded = spec.read_game(file, number)
    game = loaded.game
    if ply:
        if ply[0] > len(game.moves):
            raise ValueError(f"{file}: expected a ply from 0 to {len(game.moves)}, found {ply[0]}")
        game = game_of(game.moves[: ply[0]], spec, game.positions[0])
    return FileGame(file, loaded, game)


def opening_moves(text: str, spec: GameSpec, chance: random.Random) -> tuple[str, tuple[str, ...]]:
    """Return the name and the moves of an opening.

    Args:
        text: a name or its beginning, `ballot`, `ballot:N`, or moves with spaces between.
        spec: the game.
        chance: draws the ballot.

    Raises:
        ValueError: there is no such opening, or several begin like that.
        MoveError: a move is illegal.
    """
    wanted = _plain(text)
    if wanted.startswith(BALLOT) and (ballots := spec.ballot):
        digits = wanted.removeprefix(BALLOT).strip(": ")
        if not digits:
            number = chance.randrange(len(ballots)) + 1
        elif digits.isdecimal() and 1 <= int(digits) <= len(ballots):
            number = int(digits)
        else:
            raise ValueError(f"expected ballot:1 to ballot:{len(ballots)}, found {text[:40]!r}")
        return f"ballot {number}", ballots[number - 1]
    first = "".join(text.split()[:1])
    if first and (first[0].isdigit() or spec.names_move(first)):
        game = spec.game()
        for word in text.split():
            if not re.fullmatch(r"\d+\.", word):
                game.push(spec.read_move(game.position, word))
        return "", tuple(map(str, game.moves))
    plain = {_plain(name): name for name in spec.named_openings}
    names = [
        plain[p] for p in plain if p == wanted or (wanted not in plain and wanted and p.startswith(wanted))
    ]
    if len(names) == 1:
        return names[0], spec.named_openings[names[0]]
    names = names or [plain[p] for p in get_close_matches(wanted, plain, cutoff=0.5)]
    expected = "the name of an opening, ballot, ballot:N or moves" if plain else "moves"
    hint = f"; did you mean {', '.join(names)}?" if names else ""
    raise ValueError(f"expected {expected}, found {text[:40]!r}{hint}")


def _plain(text: str) -> str:
    return " ".join(re.sub(r"[^a-z0-9: ]", "", text.lower().replace("-", " ")).split())
