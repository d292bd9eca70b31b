"""What can be wrong with PDN, with the place where it was found."""

from collections.abc import Sequence


class PdnError(ValueError):
    """Text that cannot be read as games.

    Attributes:
        reason: what was expected and what was found.
        path: file, or a name for what is no file.
        line: 1-based, None where no single line is meant.
        game: 0-based number of the game in the source, as in the rows' `game` column.
        ply: 0-based half-move that could not be played, as in the rows' `ply` column.
        text: the words of the file.
        legal: the legal moves there.
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
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        game = "" if self.game is None else f"game {self.game}: "
        ply = "" if self.ply is None else f"ply {self.ply}: "
        return f"{where}: {game}{ply}{self.reason}" if where else f"{game}{ply}{self.reason}"
