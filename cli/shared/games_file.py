"""PDN files that commands append games to."""

import errno
import os
import re
from collections.abc import Iterable
from pathlib import Path


def expanded(path: str | Path) -> Path:
    """Return a path in which ~ and ~USER are replaced by home folders.

    Raises:
        ValueError: there is no such user.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise ValueError(f"{path}: expected the home folder of a user, found no such user") from error


class GamesFileError(OSError):
    """A file that games cannot be appended to; says what was expected and found."""


def check_games_file(path: Path) -> None:
    """Check that games can be appended to a file; create its folder if missing.

    Args:
        path: a text file, or no file yet.

    Raises:
        GamesFileError: it is a folder, a device or a binary file, or cannot be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise GamesFileError(f"{path}: expected a file for the game, found a folder or a device")
        if path.exists() and b"\0" in path.read_bytes():
            raise GamesFileError(f"{path}: expected PDN text to append the game to, found a binary file")
    except GamesFileError:
        raise
    except OSError as error:
        raise _unusable(path, error.strerror) from error
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unusable(path, "no permission to write")


class GamesFile:
    """A PDN file that finished games are appended to, one at a time; other processes may append, too."""

    def __init__(self, path: Path) -> None:
        """Check the file, see `check_games_file`; nothing is written yet.

        Raises:
            GamesFileError: see `check_games_file`.
        """
        check_games_file(path)
        self._path = path
        held = path.read_bytes() if path.exists() else b""
        self._gap = b"" if not held or held.endswith(b"\n\n") else b"\n\n"

    def missing(self, games: Iterable[str]) -> list[str]:
        """Return those of some games, given as PDN with tags, that the file does not have.

        Raises:
            GamesFileError: it cannot be read.
        """
        try:
            held = self._path.read_text(encoding="utf-8", errors="replace") if self._path.exists() else ""
        except OSError as error:
            raise _unusable(self._path, error.strerror) from error
        there = {text.strip() for text in re.split(r"\n\n(?=\[)", held)}
        return [game for game in games if game.strip() not in there]

    def add(self, game: str) -> None:
        """Append a game, given as PDN, whole or not at all.

        Raises:
            GamesFileError: it cannot be written.
        """
        data = self._gap + game.encode()
        try:
            with self._path.open("ab", buffering=0) as file:
                begun, written = file.tell(), file.write(data)
                if written < len(data):  # a full disk
                    file.truncate(begun)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise _unusable(self._path, error.strerror) from error
        self._gap = b""


def _unusable(path: Path, reason: str | None) -> GamesFileError:
    return GamesFileError(f"{path}: expected a file for games, found one that cannot be used ({reason})")
