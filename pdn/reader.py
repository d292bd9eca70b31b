"""The full reader: games as Python objects, with comments, variations, marks and problems."""

import io
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from ckai.game import MoveError, Position
from ckai.game.text import printable
from ckai.pdn import lexer
from ckai.pdn.errors import PdnError
from ckai.pdn.game import PdnGame, PdnMove, Variation
from ckai.pdn.kernels import (
    BAD_MOVE,
    FINE,
    MAX_PLIES,
    OPEN_BRACE,
    OPEN_BRACKET,
    REFUSED,
    TOO_LONG,
    UNREADABLE,
)
from ckai.pdn.played import PlayedGames
from ckai.pdn.sources import open_sources
from ckai.pdn.stream import Readable, read_chunks

SQUARE_0 = "a square 0: squares count from 1 here"
"""What the problem of a game says whose squares are numbered from 0."""
DEEPEST = 50
"""Levels of variations that become objects; deeper ones are comments."""
_PROBLEMS = {
    UNREADABLE: "expected a move or a result, found '{}'",
    OPEN_BRACE: "expected a closing }}, found none before the next tag or the end",
    OPEN_BRACKET: "expected a closing ), found none: what follows may be a variation or the game",
    TOO_LONG: f"expected at most {MAX_PLIES:,} plies, found more",
}


def read_games(source: str | Path | Readable, name: str | None = None) -> Generator[PdnGame, None, None]:
    """Read games one at a time, in bounded memory.

    Args:
        source: the path of a file, which may be compressed (gzip, or zip: the games of all `.pdn`
            files in it), "-" for standard input, or a file open for reading bytes of text.
        name: the source's name in messages; default: its path.

    Yields:
        Every game of the source, incomplete ones included: see `PdnGame.problem` and `PdnGame.rejected`.

    Raises:
        OSError: if the file cannot be read.
        PdnError: if the file is UTF-16, a folder, or a damaged archive.

    >>> import io
    >>> [str(game.moves[-1].move) for game in read_games(io.BytesIO(b"1. 11-15 22-18 1-0 1. 9-14 *"))]
    ['22-18', '9-14']
    """
    if isinstance(source, (str, Path)):
        for opened in open_sources(source):
            yield from _read(opened, name or opened.name)
        return
    yield from _read(source, name or str(getattr(source, "name", "")))


def read_one(source: "str | bytes | Path | IO[str] | IO[bytes]", number: int = 1) -> PdnGame:
    """Read one whole game, as `Game.from_pdn` does.

    Args:
        source: PDN text (str or bytes), the path of a file as a `pathlib.Path`, or an open file.
        number: which game of the source, from 1.

    Raises:
        PdnError: there is no such game, or it cannot be read to its end.
        ValueError: `number` < 1.

    >>> from ckai.pdn import read_one
    >>> len(read_one("1. 11-15 22-18 *").moves)
    2
    """
    if number < 1:
        raise ValueError(f"expected a game number >= 1, found {number}")
    name = str(source) if isinstance(source, Path) else str(getattr(source, "name", "text"))
    data = source if isinstance(source, (str, bytes, Path)) else source.read()
    if isinstance(data, str):
        data = data.encode()
    games = read_games(data if isinstance(data, Path) else io.BytesIO(data), name)
    count = sum(1 for _ in islice(games, number - 1))
    game = next(games, None)
    games.close()
    if game is None:
        hint = ": give a file's path as a pathlib.Path" if isinstance(source, str) and count == 0 else ""
        if not count:
            raise PdnError(f"expected games, found none{hint}", name)
        raise PdnError(f"expected a game number from 1 to {count}, found {number}", name)
    if game.problem is not None:
        raise game.problem
    return game


def _read(source: Readable, name: str) -> Generator[PdnGame, None, None]:
    for chunk in read_chunks(source):
        played = PlayedGames(chunk)
        for g in range(len(chunk.games)):
            yield build_game(played, g, name)


def build_game(played: PlayedGames, g: int, path: str) -> PdnGame:
    """Build game `g` of a chunk; `path` names the source."""
    return _Builder(played, g, path).game


class _Builder:
    """Walks over the tokens of one game, up to where `kernels.replay` stopped."""

    def __init__(self, played: PlayedGames, g: int, path: str) -> None:
        self.chunk, self.tokens, found = played.chunk, played.chunk.tokens, played.games[g]
        self.first, self.last = self.chunk.games[g].tolist()
        self.kinds: list[int] = self.tokens["kind"][self.first : self.last].tolist()
        self.closing: dict[int, int] = {}
        """The token that closes each opening bracket which is closed."""
        opened = []
        for t, kind in enumerate(self.kinds, self.first):
            if kind == lexer.OPEN:
                opened.append(t)
            elif kind == lexer.CLOSE and opened:
                self.closing[opened.pop()] = t
        self.game = game = PdnGame(
            headers=list(self.chunk.headers[g]),
            start=played.start(g),
            termination_marker=lexer.RESULT_TEXT[int(found["result"])],
            tag_result=lexer.RESULT_TEXT[int(played.tag_results[g])],
            number=self.chunk.number + g + 1,
            line=self.line(self.first),
            path=path,
        )
        game.comments, game.moves, position = self.moves(self.first, int(found["stop"]), game.start)
        game.final_comments = self.moves(int(found["end"]) + 1, self.last, position)[0]
        if found["problem"] != FINE:
            game.problem = self.problem(found, position, played.refused.get(g, ""))
            game.rejected = not game.moves

    def line(self, t: int) -> int:
        return int(self.chunk.lines(self.tokens[t]["start"]))

    def text(self, t: int, last: int | None = None) -> str:
        """The text of a token, or of it and those up to `last`."""
        end = self.tokens[t if last is None else last]["end"]
        return self.chunk.text(int(self.tokens[t]["start"]), int(end))

    def squares(self, t: int) -> list[int]:
        first, count = int(self.tokens[t]["first"]), int(self.tokens[t]["value"])
        return [int(square) for square in self.chunk.squares[first : first + count]]

    def moves(
        self, t: int, end: int, position: Position, depth: int = 0
    ) -> tuple[list[str], list[PdnMove], Position]:
        """Read tokens `t` to `end`: comments, then moves from a position; and the position they lead to.

        Raises:
            MoveError: inside of brackets, `depth` of them, something that is neither.
        """
        comments: list[str] = []
        moves: list[PdnMove] = []
        before = position
        while t < end:
            kind = self.kinds[t - self.first]
            place = moves[-1].comments if moves else comments
            if kind in (lexer.COMMENT, lexer.LINE):
                place.append(_clean(self.text(t)[1:].removesuffix("}" if kind == lexer.COMMENT else "")))
            elif kind == lexer.OPEN:
                close = min(self.closing.get(t, end), end - 1)
                variation = self.variation(t + 1, close, before, depth + 1) if moves else None
                if variation is None:
                    place.append(_clean(self.text(t, close).replace("{", "").replace("}", "")))
                else:
                    moves[-1].variations.append(variation)
                t = close
            elif kind == lexer.MOVE:
                moves.append(PdnMove(position.find_path(self.squares(t))))
                before, position = position, position.push(moves[-1].move)
            elif kind == lexer.NAG and moves:
                moves[-1].nags.append(int(self.tokens[t]["value"]))
            elif kind == lexer.MARK and moves:
                moves[-1].marks += self.text(t)
            elif depth and kind not in (lexer.NUMBER, lexer.BARE):
                raise MoveError("expected a move")
            t += 1
        return comments, moves, position

    def variation(self, t: int, close: int, start: Position, depth: int) -> Variation | None:
        """The variation of tokens `t` to `close`; None if they are no line of moves."""
        if depth > DEEPEST:
            return None
        try:
            comments, moves, _ = self.moves(t, close, start, depth)
        except MoveError:
            return None
        return Variation(comments, moves) if moves else None

    def problem(self, found: Any, position: Position, refused: str) -> PdnError:
        """What stopped the reader; `position` is where it came."""
        game, t, kind = self.game, int(found["stop"]), int(found["problem"])
        if kind == REFUSED:
            return PdnError(refused, game.path, game.line, game.number)
        legal: tuple[str, ...] = ()
        text = printable(" ".join(self.text(t).split()), most=80)
        reason = _PROBLEMS.get(kind, "").format(text)
        if kind == BAD_MOVE:
            legal = tuple(map(str, position.legal_moves()))
            reason = self.other_board(t) or _refusal(position, self.squares(t), text.replace(" ", ""))
        return PdnError(reason, game.path, self.line(t), game.number, len(game.moves), text, legal)

    def other_board(self, t: int) -> str:
        """Say that a game whose move at token `t` is illegal has squares of another board; "" if not."""
        for k in range(t, self.last):
            kind = self.kinds[k - self.first]
            if kind in (lexer.JUNK, lexer.RESULT, lexer.UNCLOSED):
                break
            squares = self.squares(k) if kind == lexer.MOVE else []
            move = printable("".join(self.text(k).split()), most=80)
            if 0 in squares:
                return f"'{move}' has {SQUARE_0}"
            if max(squares, default=0) > 32:
                return f"'{move}' has a square above 32: another variant of draughts?"
        return ""


def _refusal(position: Position, squares: list[int], text: str) -> str:
    try:
        position.find_path(squares, text)
    except MoveError as error:
        return str(error)
    raise AssertionError("expected a move that cannot be played")


def _clean(comment: str) -> str:
    """A comment on one line."""
    return " ".join(comment.replace("\0", " ").split())
