"""The file of a game that is being played: written whole after every move, never half."""

from contextlib import suppress
from pathlib import Path

from ckai.datasets.files import write_whole

GAMES = Path("games")
"""Folder of games whose file was not named, under the current one."""


class Record:
    """A PDN file that one game is written to, again and again as it grows.

    A file that exists keeps what it holds, and the game is added behind it. Without a name the game gets a
    fresh one, `games/game-001.pdn` and so on, when it is first written.
    """

    def __init__(self, path: Path | None = None, folder: Path = GAMES) -> None:
        """Name the file; nothing is written yet.

        Raises:
            OSError: a named file cannot be read, is no text, or its folder cannot be made.
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
                    raise OSError(f"{path}: expected PDN text to add the game to, found another kind of file")
                if self._before:
                    self._before += b"\n\n"

    def write(self, text: str) -> Path:
        """Put the game into its file, on the disk; return where that is.

        Raises:
            OSError: it cannot be written; what stood in the file is untouched.
        """
        if self.path is None:
            self.path = _fresh(self._folder)
        write_whole(self.path.resolve(), self._before + text.encode())  # a link stays one
        return self.path


def _fresh(folder: Path) -> Path:
    """A name that no game has yet, taken at once so that no other process takes it too."""
    folder.mkdir(parents=True, exist_ok=True)
    taken = [int(p.stem[5:]) for p in folder.glob("game-*.pdn") if p.stem[5:].isdigit()]
    number = max(taken, default=0) + 1
    while True:
        path = folder / f"game-{number:03}.pdn"
        with suppress(FileExistsError):
            path.open("xb").close()
            return path
        number += 1
