"""The finished games of a match, kept in a file so that an interrupted match goes on."""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ckai.datasets.files import write_whole
from ckai.rl.games.spec import GameSpec
from ckai.rl.matches.match import MatchGame, from_plain, to_plain

SAVE_SECONDS = 5.0
"""Time between two writes of the file while games end."""


class SavedGames:
    """The games of a match that have ended, with those before an interruption.

    Attributes:
        games: in the order in which they ended.
    """

    def __init__(
        self, path: Path, openings: Sequence[Any], spec: GameSpec, warn: Callable[[str], None]
    ) -> None:
        """Read the games of an interrupted match; none if it had not begun.

        Args:
            path: the file.
            openings: openings of the match.
            spec: the game.
            warn: called with a line if the file is damaged; the match then begins again.
        """
        self.path, self.games = path, list[MatchGame]()
        self._written = time.monotonic()
        try:
            self.games = from_plain(json.loads(path.read_text(encoding="utf-8")), openings, spec)
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, IndexError, TypeError) as error:
            warn(f"{path}: damaged ({error}); restarting the match")

    def add(self, game: MatchGame) -> None:
        """Add a game; the file is written every `SAVE_SECONDS`."""
        self.games.append(game)
        if time.monotonic() - self._written > SAVE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write the file."""
        write_whole(self.path, json.dumps(to_plain(self.games)))
        self._written = time.monotonic()
