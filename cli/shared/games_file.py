"""PDN files that commands append games to."""

import os
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


def check_games_file(path: Path) -> None:
    """Check that games can be appended to a file; create its folder if missing.

    Args:
        path: a text file, or no file yet.

    Raises:
        OSError: it is a folder, a device or a binary file, or cannot be read or written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfit = path.exists() and not path.is_file()
        binary = path.is_file() and b"\0" in path.read_bytes()
    except OSError as error:
        raise _unusable(path, error.strerror) from error
    if unfit:
        raise OSError(f"{path}: expected a file for the game, found a folder or a device")
    if binary:
        raise OSError(f"{path}: expected PDN text to append the game to, found a binary file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise _unusable(path, "no permission to write")


def _unusable(path: Path, reason: str | None) -> OSError:
    return OSError(f"{path}: expected a file for games, found one that cannot be used ({reason})")
