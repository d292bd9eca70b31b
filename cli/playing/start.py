"""Where a game begins: a position, an opening, a ballot, a game of a file."""

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from ckai.cli.playing.session import SIDES, Session, Side
from ckai.cli.shared.games_file import expanded
from ckai.rl.games.spec import GameSpec, LoadedGame

BALLOT = "ballot"


@dataclass(frozen=True)
class FileGame:
    """Which game of which file, and where in it."""

    path: Path
    number: int = 1
    """Which of its games, from 1."""
    ply: int | None = None
    """Plies after which to begin; None: not said."""

    @classmethod
    def read(cls, text: str) -> "FileGame":
        """Parse `FILE`, `FILE:N` or `FILE:N:PLY`; a file whose name ends like that may exist, too.

        Raises:
            ValueError: there is no such file or user, or N is 0.
        """
        path, numbers = text, ""
        if not expanded(text).is_file():
            parts = re.fullmatch(r"(.+?)((?::\d{1,9}){1,2})", text)
            if parts:
                path, numbers = parts[1], parts[2]
        file = expanded(path)
        if not file.is_file():
            raise ValueError(f"{path}: expected a file of games, found no such file")
        number, *ply = [int(digits) for digits in numbers[1:].split(":")] if numbers else [1]
        if number < 1:
            raise ValueError(f"{text}: games count from 1, found {number}")
        return cls(file, number, ply[0] if ply else None)

    def load(self, spec: GameSpec) -> LoadedGame:
        """Read the game.

        Raises:
            ValueError: there is no such game or ply, or it cannot be read.
            OSError: the file cannot be read.
        """
        loaded = spec.read_game(self.path, self.number)
        if self.ply is not None and self.ply > len(loaded.game.moves):
            raise ValueError(
                f"{self.path}: expected a ply from 0 to {len(loaded.game.moves)}, found {self.ply}"
            )
        return loaded


@dataclass
class Origin:
    """The game of a file that is stepped through or continued."""

    headers: Mapping[str, str] = field(default_factory=dict)
    result: str = "*"
    comments: Sequence[str] = ()
    path: Path | None = None
    continued: bool = False
    """Whether the game goes on in its file, so that its headers stay."""
    text: str = ""
    """The game as text, see `LoadedGame`; it stands for the game until that is left."""

    @property
    def tags(self) -> dict[str, str]:
        """The headers without the result, which follows from the game."""
        return {name: value for name, value in self.headers.items() if name != "Result"}

    def depart(self, ply: int) -> None:
        """Note that the game departs from the file's after `ply` plies."""
        self.comments, self.result, self.text = self.comments[:ply], "*", ""
        if not self.continued:
            self.headers = {}
            self.path = None


HUMAN = "human"
"""Name of people in the headers of a saved game."""


def open_game(
    where: FileGame, loaded: LoadedGame, humans: Iterable[Side] | None, spec: GameSpec
) -> tuple[Session, Origin, bool]:
    """Prepare a game of a file: to step through if it is finished, else to continue.

    Args:
        where: which game it is; with a ply, play continues from there, finished or not.
        loaded: the game.
        humans: sides that people play; None: those called `HUMAN` in the file, or Black.
        spec: the game's rules.

    Returns:
        The session, the source, and whether the game is to be stepped through.
    """
    if humans is None:
        humans = [side for side in SIDES if loaded.headers.get(side.capitalize()) == HUMAN] or ["black"]
    session = Session(loaded.game, humans, spec=spec)
    view = where.ply is None and (loaded.result != "*" or loaded.game.outcome() is not None)
    if view or where.ply is not None:
        session.step((where.ply or 0) - session.ply)
    continued = not view and not session.ahead and not loaded.problem
    source = Origin(loaded.headers, loaded.result, loaded.comments, where.path, continued, loaded.text)
    return session, source, view


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
