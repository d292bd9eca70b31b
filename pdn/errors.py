"""The error of PDN text, with its place in the file."""

from collections.abc import Sequence


class PdnError(ValueError):
    """Text that cannot be read as games.

    Attributes:
        reason: what was expected and what was found.
        path: the file, or the name given for a source that is not a file.
        line: 1-based line, None where no single line is meant.
        game: number of the game in its file (of an archive, in the member), from 1.
        ply: 0-based ply that cannot be played, as in the rows' `ply` column.
        text: the text in the file.
        legal: the legal moves at that place.

    >>> from ckai.game import Game
    >>> Game.from_pdn("1. 11-15 22-18 2. 8-11 *")
    Traceback (most recent call last):
    ckai.pdn.errors.PdnError: text:1: game 1: ply 2: '8-11' is illegal here (legal: 15x22)
    """

    def __init__(
        self,
        reason: str,
        path: str = "",
        line: int | None = None,
        game: int | None = None,
        ply: int | None = None,
        text: str = "",
        legal: Sequence[str] = (),
    ) -> None:
        # Positional, so that the error crosses process pools.
        super().__init__(reason, path, line, game, ply, text, tuple(legal))
        self.reason, self.path, self.line, self.game = reason, path, line, game
        self.ply, self.text, self.legal = ply, text, tuple(legal)

    def __str__(self) -> str:
        return self.named("" if self.game is None else f"game {self.game}: ")

    def named(self, game: str) -> str:
        """Return the message with another name of the game, such as `problem 2: `, or with none."""
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        ply = "" if self.ply is None else f"ply {self.ply}: "
        return f"{where}: {game}{ply}{self.reason}" if where else f"{game}{ply}{self.reason}"
