"""The PDN file of a game in progress, rewritten as a whole after every move."""

import os
from contextlib import suppress
from pathlib import Path

from ckai.datasets.files import WriteError, write_whole

GAMES = Path("games")
"""Default folder of games, under the current folder."""


def check_games_file(path: Path) -> None:
    """Raise an OSError unless games can be appended to a file; create its folder if missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and (not path.is_file() or b"\0" in path.read_bytes()):
        raise OSError(f"{path}: expected a PDN file to append games to, found something else")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise OSError(f"{path}: expected a file for games, found one without permission to write")


class Record:
    """A PDN file that a growing game is written to.

    The game is appended to what an existing file holds, also to what another process has added since the
    last write. Without a path, the first write creates a new file, `games/game-001.pdn` and so on.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = self._named = path
        self._written = b""
        """The game as this record has written it last; empty before the first write."""
        self._tried = b""
        """The game of the last write that began: the file holds it, too, if a signal ended that write."""
        if path is not None:
            check_games_file(path)

    @property
    def begun(self) -> bool:
        """Whether its file holds the game: one without a move is not worth a file until it does."""
        return bool(self._written)

    def fresh(self) -> "Record":
        """Return a record for another game: in the same file if one was named, else in a new one."""
        return Record(self._named)

    def adopt(self, path: Path, text: str) -> bool:
        """Continue a game that a file holds, if it does exactly as `text`, once; return whether it does."""
        game = text.encode()
        if path.read_bytes().count(game) != 1 or self._named is not None:
            return False
        self.path, self._written = path, game
        return True

    def write(self, text: str) -> Path:
        """Write the game, as PDN, to its file, and return its path."""
        if self.path is None:
            self.path = _fresh()
        path, game = self.path.resolve(), text.encode()  # follows a symbolic link
        held = path.read_bytes() if path.exists() else b""
        mine = next((each for each in (self._tried, self._written) if each and each in held), None)
        if mine is not None:
            before, _, after = held.rpartition(mine)
        else:
            before, after = held.rstrip() + b"\n\n" if held.strip() else b"", b""
        self._tried = game
        write_whole(path, before + game + after)
        self._written = game
        return self.path


def _fresh() -> Path:
    """Create the next unused file, so that no other process can choose it."""
    GAMES.mkdir(parents=True, exist_ok=True)
    numbers = [int(p.stem[5:]) for p in GAMES.glob("game-*.pdn") if p.stem[5:].isdigit()]
    number = max(numbers, default=0) + 1
    while True:
        path = GAMES / f"game-{number:03}.pdn"
        with suppress(FileExistsError):
            path.open("xb").close()
            return path
        number += 1


def error_text(error: Exception) -> str:
    """Return the text of an error, one of the system without its number."""
    if isinstance(error, OSError) and not isinstance(error, WriteError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)
