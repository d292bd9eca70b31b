"""The finished games of a match, kept in a file so that an interrupted match goes on."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ckai.datasets.files import locked, write_whole
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.match import MatchGame
from ckai.rl.matches.serialization import from_plain, to_plain

SAVE_SECONDS = 5.0
"""Most time between two writes of the file while games end."""
SAVE_SHARE = 0.02
"""Share of the time that writing may take while games end at once, of matches that are short."""
_DAMAGED = (ValueError, KeyError, IndexError, TypeError)
"""What reading a damaged file raises."""


class SavedMatchError(ValueError):
    """A file that a match cannot go on with; says what was expected and found."""


class SavedGames:
    """The games of a match that have ended, with those before an interruption.

    Attributes:
        games: in the order in which they ended.
    """

    def __init__(self, path: Path, games: Sequence[MatchGame] = ()) -> None:
        """Begin with games; nothing is written yet."""
        self.path, self.games = path, list(games)
        self.on_write: Callable[[], None] = lambda: None
        """Called after each write of the file."""
        self._written, self._cost = time.monotonic(), 0.0

    @classmethod
    def read(
        cls, path: Path, openings: Sequence[Any], spec: GameSpec, warn: Callable[[str], None]
    ) -> "SavedGames":
        """Read the games of an interrupted match; none if it had not begun.

        Args:
            path: the file.
            openings: openings of the match.
            spec: the game.
            warn: called with a line if the file is damaged; the match then begins again.
        """
        try:
            return cls(path, from_plain(json.loads(path.read_text(encoding="utf-8")), openings, spec))
        except FileNotFoundError:
            pass
        except _DAMAGED as error:
            warn(f"{path}: damaged ({error}); restarting the match")
        return cls(path)

    def add(self, game: MatchGame) -> None:
        """Add a game, and write the file unless that was only just done (`SAVE_SECONDS`, `SAVE_SHARE`)."""
        self.games.append(game)
        if time.monotonic() - self._written >= min(SAVE_SECONDS, self._cost / SAVE_SHARE):
            self.write()

    def write(self) -> None:
        """Write the file."""
        begun = time.monotonic()
        write_whole(self.path, json.dumps(self.content()))
        self._written = time.monotonic()
        self._cost = self._written - begun
        self.on_write()

    def content(self) -> Any:
        """Return what the file has, as plain data."""
        return to_plain(self.games)


class SavedMatch(SavedGames):
    """A match in a file of its own, with what decides its games: a match of other settings is refused."""

    def __init__(self, path: Path, settings: Mapping[str, Any], games: Sequence[MatchGame] = ()) -> None:
        """Begin with games; nothing is written yet.

        Args:
            path: the file.
            settings: plain data by name, such as the players, the openings and the seed.
            games: the games.
        """
        super().__init__(path, games)
        self.settings = dict(settings)

    @classmethod
    def open(
        cls, path: Path, settings: Mapping[str, Any], openings: Sequence[Any], spec: GameSpec
    ) -> "SavedMatch":
        """Read a match that was interrupted, or begin one if there is no file.

        Args:
            path, settings: see `SavedMatch`.
            openings: openings of the match; there may be more of them than before.
            spec: the game.

        Raises:
            SavedMatchError: the file is no match, is damaged, or is of other settings or more games.
            OSError: it cannot be read.
        """
        if not path.exists():
            return cls(path, settings)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            before, games = content["match"], content["games"]
            different = [name for name in {**settings, **before} if before.get(name) != settings.get(name)]
            pairs = 1 + max((game["pair"] for game in games), default=-1)
        except (*_DAMAGED, AttributeError) as error:
            raise SavedMatchError(
                f"{path}: expected a match saved by ckai match, found something else or a damaged file; "
                "choose another --save"
            ) from error
        if different:
            name = different[0]
            raise SavedMatchError(
                f"{path}: expected a match with {name} {settings.get(name)!r}, found one with "
                f"{before.get(name)!r}; choose another --save"
            )
        if pairs > len(openings):
            raise SavedMatchError(
                f"{path}: expected at most {2 * len(openings)} games, found some of a longer match; use "
                f"--games {2 * pairs} or more"
            )
        try:
            return cls(path, settings, from_plain(games, openings, spec))
        except _DAMAGED as error:
            raise SavedMatchError(
                f"{path}: expected the games of this match, found damaged ones ({error})"
            ) from error

    @classmethod
    @contextmanager
    def held(
        cls, path: Path, settings: Mapping[str, Any], openings: Sequence[Any], spec: GameSpec
    ) -> Iterator["SavedMatch"]:
        """Hold a match for this process alone during a `with` block, see `open`.

        It is written before the block, so that a file that cannot be written is no surprise, and after it.

        Raises:
            LockedError: another process holds it.
        """
        with locked(path.with_name(f".{path.name}.lock")):
            saved = cls.open(path, settings, openings, spec)
            saved.write()
            try:
                yield saved
            finally:
                saved.write()

    def content(self) -> Any:
        """See `SavedGames.content`."""
        return {"match": self.settings, "games": super().content()}
