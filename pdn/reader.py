"""The full reader: games as Python objects, with comments, variations, marks and problems."""

import io
from collections.abc import Generator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from ckai.game import Move, MoveError, Position
from ckai.game.text import printable
from ckai.pdn import lexer
from ckai.pdn.errors import PdnError
from ckai.pdn.game import PdnGame, PdnMove, Variation
from ckai.pdn.kernels import MAX_PLIES, stops
from ckai.pdn.segments import RESULT_TEXT
from ckai.pdn.sources import open_sources
from ckai.pdn.stream import Chunk, Readable, first_positions, read_chunks, unescape

SQUARE_0 = "a square 0: squares count from 1 here"
"""What the problem of a game says whose squares are numbered from 0."""
LISTED = 12
"""Most legal moves that a message lists."""


def read_games(source: str | Path | Readable, name: str | None = None) -> Generator[PdnGame, None, None]:
    """Read games one at a time, in bounded memory.

    Args:
        source: the path of a file, which may be compressed (gzip, bzip2, or zip: the games of all `.pdn`
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
        starts, refused = first_positions(chunk)
        for g in range(len(chunk.segments)):
            yield build_game(chunk, g, starts[g], refused.get(g), name)


def build_game(chunk: Chunk, g: int, start: Any, refused: str | None, path: str) -> PdnGame:
    """Build game `g` of a chunk from its START; `refused` is the reason to reject it, or None."""
    return _Builder(chunk, g, start, refused, path).build()


class _Builder:
    """Walk over the tokens of one game, as `kernels.replay` does."""

    def __init__(self, chunk: Chunk, g: int, start: Any, refused: str | None, path: str) -> None:
        self.chunk, self.g, self.refused = chunk, g, refused
        self.tokens = chunk.read.tokens
        segment = chunk.segments[g]
        self.first, self.last = int(segment["first"]), int(segment["last"])
        first = Position.start()
        if not start["refused"]:
            own, opp, kings, halfmove_clock, black = (
                start[k].item() for k in ("own", "opp", "kings", "halfmove_clock", "black")
            )
            first = Position(own, opp, kings, black, halfmove_clock=halfmove_clock)
        self.game = PdnGame(
            start=first, number=chunk.number + g + 1, line=chunk.line + int(segment["line"]) + 1, path=path
        )
        self.position = self.before = first
        """The current position of the main line, and the one a move earlier."""
        self.kinds: list[int] = self.tokens["kind"][self.first : self.last].tolist()
        self.closing: dict[int, int] = {}
        """The token that closes each opening bracket which is closed."""
        opened = []
        for t, kind in enumerate(self.kinds, self.first):
            if kind == lexer.OPEN:
                opened.append(t)
            elif kind == lexer.CLOSE and opened:
                self.closing[opened.pop()] = t

    def kind(self, t: int) -> int:
        return self.kinds[t - self.first]

    def text(self, t: int) -> str:
        return self.chunk.text(int(self.tokens[t]["start"]), int(self.tokens[t]["end"]))

    def quoted(self, t: int, between: str = " ") -> str:
        """The text of a token for a message."""
        return printable(between.join(self.text(t).split()), most=80)

    def line(self, t: int) -> int:
        return self.chunk.line + int(self.tokens[t]["line"]) + 1

    def squares(self, t: int) -> list[int]:
        first, count = int(self.tokens[t]["first"]), int(self.tokens[t]["value"])
        return [int(s) for s in self.chunk.read.squares[first : first + count]]

    def problem(self, t: int, reason: str, legal: tuple[str, ...] = ()) -> None:
        """Record a problem at token `t`; the main line ends there."""
        game = self.game
        place = (game.path, self.line(t), game.number, len(game.moves))
        game.problem = PdnError(reason, *place, self.quoted(t), legal)

    def build(self) -> PdnGame:
        game = self.game
        if self.refused is not None:
            game.problem = PdnError(self.refused, game.path, game.line, game.number)
        t = self.first
        while t < self.last:
            kind = self.kind(t)
            if kind == lexer.TAG:
                game.headers.append(_split_tag(self.text(t)))
                t += 1
            elif kind in (lexer.COMMENT, lexer.LINE):
                self.comment(t)
                t += 1
            elif kind == lexer.OPEN:
                t = self.bracket(t)
            else:
                self.word(t, kind)
                t += 1
        return self.finish()

    def word(self, t: int, kind: int) -> None:
        """A token of the main line."""
        game = self.game
        if kind == lexer.RESULT:
            if game.termination_marker is None:
                game.termination_marker = RESULT_TEXT[int(self.tokens[t]["value"])]
            return
        if game.problem or game.termination_marker is not None:
            return
        if kind == lexer.UNCLOSED:
            self.problem(t, "expected a closing }, found none before the next tag or the end")
        elif stops(self.tokens, t, self.last):
            self.problem(t, f"expected a move or a result, found '{self.quoted(t)}'")
        elif kind == lexer.MOVE and len(game.moves) == MAX_PLIES:
            self.problem(t, f"expected at most {MAX_PLIES:,} plies, found more")
        elif kind == lexer.MOVE:
            move = self.resolve(self.position, t)
            if isinstance(move, Move):
                game.moves.append(PdnMove(move))
                self.before, self.position = self.position, self.position.push(move)
            else:
                legal = tuple(map(str, self.position.legal_moves()))
                self.problem(t, self.other_board(t) or _reason(self.quoted(t, ""), move, legal), legal)
        elif kind in (lexer.NAG, lexer.MARK) and game.moves:
            self.annotate(game.moves[-1], t, kind)

    def resolve(self, position: Position, t: int) -> Move | MoveError:
        """The move that a token names, or the error of resolving it."""
        try:
            return position.find_path(self.squares(t))
        except MoveError as error:
            return error

    def other_board(self, t: int) -> str:
        """Say that the game, whose move at token `t` is illegal, has squares of another board; "" if not."""
        while t < self.last and self.kind(t) not in (lexer.JUNK, lexer.RESULT, lexer.TAG, lexer.UNCLOSED):
            if self.kind(t) == lexer.OPEN:
                t = self.closing.get(t, self.last - 1)
            squares = self.squares(t) if self.kind(t) == lexer.MOVE else []
            move = self.quoted(t, "")
            if 0 in squares:
                return f"'{move}' has {SQUARE_0}"
            if max(squares, default=0) > 32:
                return f"'{move}' has a square above 32: another variant of draughts?"
            t += 1
        return ""

    def annotate(self, move: PdnMove, t: int, kind: int) -> None:
        if kind == lexer.NAG:
            move.nags.append(int(self.tokens[t]["value"]))
        else:
            move.marks += self.text(t)

    def comment(self, t: int) -> None:
        game = self.game
        if game.termination_marker is not None:
            place = game.final_comments
        elif game.problem:
            return
        else:
            place = game.moves[-1].comments if game.moves else game.comments
        place.append(_comment(self.text(t)))

    def bracket(self, t: int) -> int:
        """Read brackets: a variation, or a comment if they stand before the first move or after the result.

        Returns:
            The token after them.
        """
        game = self.game
        end = self.closing.get(t, self.last - 1) + 1
        for k in range(t, end):
            if self.kind(k) == lexer.TAG:
                game.headers.append(_split_tag(self.text(k)))
            elif self.kind(k) == lexer.UNCLOSED and not game.problem and game.termination_marker is None:
                self.problem(k, "expected a closing }, found none before the next tag or the end")
        if game.termination_marker is not None:
            game.final_comments.append(self.remark(t, end))
        elif game.problem:
            pass
        elif t not in self.closing:
            self.problem(t, "expected a closing ), found none: what follows may be a variation or the game")
        elif game.moves:
            game.moves[-1].variations.append(self.variation(t + 1, end - 1, self.before))
        else:
            game.comments.append(self.remark(t, end))
        return end

    def variation(self, t: int, end: int, start: Position, depth: int = 1) -> Variation:
        """Read the line of tokens `t` to `end`, so deep in brackets; DEEPEST bounds the recursion."""
        line = Variation()
        position, before = start, start
        while t < end:
            kind = self.kind(t)
            if kind in (lexer.COMMENT, lexer.LINE):
                (line.moves[-1].comments if line.moves else line.comments).append(_comment(self.text(t)))
            elif kind == lexer.OPEN:
                close = self.closing[t]
                if line.moves and depth < DEEPEST:
                    line.moves[-1].variations.append(self.variation(t + 1, close, before, depth + 1))
                    t = close + 1
                    continue
                line.rest = self.rest(t, end)
                break
            elif kind in (lexer.NAG, lexer.MARK) and line.moves:
                self.annotate(line.moves[-1], t, kind)
            elif kind == lexer.MOVE:
                move = self.resolve(position, t)
                if not isinstance(move, Move):
                    line.rest = self.rest(t, end)
                    break
                line.moves.append(PdnMove(move))
                before, position = position, position.push(move)
            elif kind not in (lexer.NUMBER, lexer.BARE):
                line.rest = self.rest(t, end)
                break
            t += 1
        return line

    def rest(self, t: int, end: int) -> str:
        """The text from token `t` on, on one line, with comments in braces."""
        words: list[str] = []
        at = int(self.tokens[t]["start"])
        for k in range(t, end):
            if self.kind(k) == lexer.LINE:
                comment = _comment(self.text(k)).replace("}", ")")
                words += [self.chunk.text(at, int(self.tokens[k]["start"])), f" {{{comment}}} "]
                at = int(self.tokens[k]["end"])
        words.append(self.chunk.text(at, int(self.tokens[end - 1]["end"])))
        return " ".join("".join(words).split())

    def remark(self, t: int, end: int) -> str:
        """The text in brackets as that of a comment."""
        return self.rest(t, end).replace("{", "").replace("}", "")

    def finish(self) -> PdnGame:
        game = self.game
        if game.header("Black") is None:
            game.headers = [("Black" if k.lower() == "red" else k, value) for k, value in game.headers]
        game.tag_result = RESULT_TEXT[int(self.chunk.segments[self.g]["result_tag"])]
        if game.problem is not None and (self.refused is not None or not game.moves):
            game.rejected = True
        return game


DEEPEST = 50
"""Levels of variations that become objects; deeper ones stay text in `Variation.rest`."""


def _split_tag(text: str) -> tuple[str, str]:
    """Name and value of a tag's text with its brackets; missing quotation marks and brackets are accepted."""
    inner = text.strip()[1:]
    if inner.endswith("]"):
        inner = inner[:-1]
    head, quote, value = inner.partition('"')
    if not quote:
        name, _, value = inner.strip().partition(" ")
        return name, value.strip()
    value = value.rstrip()
    return head.strip(), unescape(value[:-1] if value.endswith('"') else value)


def _comment(text: str) -> str:
    """The text of a comment, on one line."""
    inner = text[1:-1] if text.startswith("{") else text[1:]
    return " ".join(inner.replace("\x00", " ").split())


def _reason(text: str, error: MoveError, legal: tuple[str, ...]) -> str:
    kind = f"is {'ambiguous' if 'ambiguous' in str(error) else 'illegal'} here"
    if not legal:
        return f"'{text}' {kind}: the game is over, the side to move has no legal move"
    shown = ", ".join(legal[:LISTED]) + (", ..." if len(legal) > LISTED else "")
    return f"'{text}' {kind} (legal: {shown})"
