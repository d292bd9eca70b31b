"""Read a file of any size in bounded memory, as chunks of whole games."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ckai.pdn.errors import PdnError
from ckai.pdn.lexer import TAG, plain_text, read_tokens
from ckai.pdn.segments import find_games

CHUNK = 1 << 21
"""Bytes per read."""
MAX_GAME = 1 << 23
"""Most bytes of a game; a longer one is cut there and read as two."""


class Readable(Protocol):
    """What `read_chunks` reads: a file open for reading bytes, or part of one."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, none only at the end."""
        ...


@dataclass(frozen=True)
class Chunk:
    """Whole games of a source."""

    data: bytes
    plain: NDArray[np.uint8]
    """`[N]` the same as `lexer.plain_text`."""
    tokens: NDArray[Any]
    """`[T]` TOKEN."""
    squares: NDArray[np.uint8]
    """`[S]` squares of the moves as written, 255 for larger numbers."""
    games: NDArray[np.int32]
    """`[G, 2]`: the first token of each game, and the one after its last."""
    number: int
    """Games of the source before its first one."""
    line: int
    """0-based line of its first byte."""
    offset: int
    """Position of its first byte in the file."""

    def text(self, start: int, end: int) -> str:
        """Decode bytes as UTF-8, or as cp1252 if they are not."""
        raw = self.data[start:end]
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("cp1252", errors="replace")

    @property
    def begins(self) -> NDArray[np.int32]:
        """`[G]` the first byte of each game."""
        begins: NDArray[np.int32] = self.tokens["start"][self.games[:, 0]]
        return begins

    def lines(self, at: Any) -> NDArray[np.int64]:
        """The 1-based lines of the file in which bytes of the chunk are."""
        lines: NDArray[np.int64] = np.searchsorted(self._line_ends, at) + self.line + 1
        return lines

    @cached_property
    def _line_ends(self) -> NDArray[np.int64]:
        return np.flatnonzero(self.plain == 10)

    @cached_property
    def headers(self) -> list[list[tuple[str, str]]]:
        """The tags of each game, names and values in file order; Red is Black where nothing else is."""
        headers: list[list[tuple[str, str]]] = [[] for _ in self.games]
        at = np.flatnonzero(self.tokens["kind"] == TAG)
        owners = np.searchsorted(self.games[:, 0], at, "right") - 1
        tags = self.tokens[at]
        for g, start, end in zip(owners.tolist(), tags["start"].tolist(), tags["end"].tolist(), strict=True):
            headers[g].append(_split_tag(self.text(start, end)))
        for tags_of in headers:
            names = [name.lower() for name, _ in tags_of]
            if "red" in names and "black" not in names:
                at_red = names.index("red")
                tags_of[at_red] = ("Black", tags_of[at_red][1])
        return headers


def _split_tag(text: str) -> tuple[str, str]:
    """Name and value of a tag with its brackets; missing quotation marks and brackets are accepted."""
    name = _NAME.match(text, 1)[0]  # type: ignore[index]  # the lexer found one
    value = text[1 + len(name) :].strip().removesuffix("]").strip()
    if '"' in value:
        value = value.partition('"')[2].removesuffix('"')
    return name, _ESCAPED.sub(r"\1", value) if "\\" in value else value


_NAME, _ESCAPED = re.compile(r"\w+", re.ASCII), re.compile(r'\\(["\\])')


def read_chunks(file: Readable, size: int = CHUNK) -> Iterator[Chunk]:
    """Cut a file into chunks of whole games, with `size` bytes per read; PdnError if it is UTF-16.

    The last game of a chunk may continue in the next one, so it always moves there.
    """
    carry = b""
    number, line, offset = 0, 0, 0
    final = False
    while not final:
        block = _read(file, size)
        final = len(block) < size
        if offset == 0 and not carry and block[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise PdnError(
                "expected UTF-8 or cp1252, found UTF-16: convert it first", str(getattr(file, "name", ""))
            )
        data = carry + block
        long = len(data) >= MAX_GAME
        plain = np.frombuffer(plain_text(data), np.uint8)
        tokens, squares = read_tokens(plain, final or long)
        games = find_games(plain, tokens)
        if final or (long and len(games) < 2):
            keep = len(data)
        elif len(games) < 2:
            carry = data
            continue
        else:
            keep = int(tokens[games[-1, 0]]["start"])
            games = games[:-1]
        yield Chunk(
            data, plain, tokens[: games[-1, 1] if len(games) else 0], squares, games, number, line, offset
        )
        number += len(games)
        line += int(np.count_nonzero(plain[:keep] == 10))
        offset += keep
        carry = data[keep:]


def _read(file: Readable, size: int) -> bytes:
    """Read exactly `size` bytes, fewer only at the end of the file: one read of a pipe may return fewer."""
    block = file.read(size)
    while 0 < len(block) < size:
        more = file.read(size - len(block))
        if not more:
            break
        block += more
    return block
