"""The PDN file of a game in progress, rewritten as a whole after every move."""

from contextlib import suppress
from pathlib import Path

from ckai.datasets.files import write_whole

GAMES = Path("games")
"""Default folder of games, under the current folder."""


class Record:
    """A PDN file that a growing game is written to.

    The game is appended to what an existing file holds. Without a path, the first write creates a new file,
    `games/game-001.pdn` and so on.
    """

    def __init__(self, path: Path | None = None, folder: Path = GAMES) -> None:
        """Open the record without writing.

        Args:
            path: file of the game; None: a new file in `folder`.
            folder: folder of new files.

        Raises:
            OSError: `path` cannot be read or is not text, or its folder cannot be created.
        """
        self.path = path
        self._folder = folder
        self._before = b""
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                if not path.is_file():
                    raise OSError(f"{path}: expected a file for the game, found a folder or a device")
                self._before = path.read_bytes().rstrip()
                if b"\0" in self._before:
                    raise OSError(f"{path}: expected PDN text to append the game to, found a binary file")
                if self._before:
                    self._before += b"\n\n"

    def write(self, text: str) -> Path:
        """Write the game to its file.

        Args:
            text: the game as PDN.

        Returns:
            The path of the file.

        Raises:
            OSError: the file cannot be written; its earlier content is untouched.
        """
        if self.path is None:
            self.path = _fresh(self._folder)
        write_whole(self.path.resolve(), self._before + text.encode())  # follows a symbolic link
        return self.path


def _fresh(folder: Path) -> Path:
    """Create the next unused file, so that no other process can choose it."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = [int(p.stem[5:]) for p in folder.glob("game-*.pdn") if p.stem[5:].isdigit()]
    number = max(numbers, default=0) + 1
    while True:
        path = folder / f"game-{number:03}.pdn"
        with suppress(FileExistsError):
            path.open("xb").close()
            return path
        number += 1
