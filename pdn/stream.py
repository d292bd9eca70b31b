"""A file of any size in bounded memory: chunks that hold whole games."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ckai.game import Position, PositionError
from ckai.pdn.errors import PdnError
from ckai.pdn.kernels import START
from ckai.pdn.lexer import Tokens, count_lines, read_tokens
from ckai.pdn.segments import ENGLISH, FEN, GAME_TYPE, find_games

CHUNK = 1 << 21
"""Bytes read at once."""
LONGEST_GAME = 1 << 23
"""Bytes of a game at most; what is longer is cut there and read as two games."""

GAME_TYPES = {
    0: "chess", 1: "Chinese chess", 20: "international draughts", 22: "Italian draughts",
    23: "American pool checkers", 24: "Spanish draughts", 25: "Russian draughts", 26: "Brazilian draughts",
    27: "Canadian draughts", 28: "Portuguese draughts", 29: "Czech draughts", 30: "Turkish draughts",
    31: "Thai draughts", 40: "Frisian draughts", 41: "Spantsiretti",
}  # fmt: skip
"""What the numbers of the GameType tag mean (PDN 3.0)."""


@dataclass(frozen=True)
class Chunk:
    """Whole games of a source."""

    data: NDArray[np.uint8]
    read: Tokens
    segments: NDArray[Any]
    """[G] SEGMENT."""
    number: int
    """Of its first game in the source."""
    line: int
    """0-based line of its first byte."""
    offset: int
    """Of its first byte in the file."""
    stray: int
    """Tokens that belong to no game."""

    def text(self, start: int, end: int) -> str:
        """Bytes as text: UTF-8, or cp1252 where they are not."""
        raw = self.data[start:end].tobytes()
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("cp1252", errors="replace")

    def tag(self, g: int, which: int) -> str | None:
        """The value of one of `segments.TAG_NAMES` of game `g`, None if it is not there."""
        start, end = self.segments[g]["tags"][which].tolist()
        if start < 0:
            return None
        return unescape(self.text(start, end))


_ESCAPED = re.compile(r'\\(["\\])')


def unescape(value: str) -> str:
    """A tag's value without its backslashes."""
    return _ESCAPED.sub(r"\1", value) if "\\" in value else value


def read_chunks(file: BinaryIO, size: int = CHUNK) -> Iterator[Chunk]:
    """Cut a file into chunks of whole games.

    The last game of a chunk may go on in the next one, so it is always left for it.

    Raises:
        PdnError: the file is UTF-16.
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
        data = np.frombuffer(carry + block, np.uint8)
        long = len(data) >= LONGEST_GAME
        read = read_tokens(data, final or long)
        segments, stray = find_games(data, read)
        if final or (long and len(segments) < 2):
            keep = len(data)
        elif len(segments) < 2:
            carry = data.tobytes()
            continue
        else:
            keep, stray = int(segments[-1]["start"]), int(segments[-1]["stray"])
            segments = segments[:-1]
        yield Chunk(data, read, segments, number, line, offset, stray)
        number += len(segments)
        line += int(count_lines(data, 0, keep))
        offset += keep
        carry = data[keep:].tobytes()


def _read(file: BinaryIO, size: int) -> bytes:
    """As many bytes as asked for, fewer only at the end: pipes give what they have."""
    block = file.read(size)
    while 0 < len(block) < size:
        more = file.read(size - len(block))
        if not more:
            break
        block += more
    return block


def first_positions(chunk: Chunk) -> tuple[NDArray[Any], dict[int, str]]:
    """Where each game begins.

    Returns:
        `[G]` START, and for each game that is refused as a whole its number in the chunk and the reason.
    """
    starts = np.zeros(len(chunk.segments), START)
    usual = Position.start()
    starts["own"], starts["opp"], starts["black"] = usual.own, usual.opp, True
    refused: dict[int, str] = {}
    for g in np.flatnonzero(chunk.segments["game_type"] != ENGLISH).tolist():
        number = int(chunk.segments[g]["game_type"])
        value = chunk.tag(g, GAME_TYPE) or ""
        name = f" ({GAME_TYPES[number]})" if number in GAME_TYPES else ""
        refused[g] = f"expected GameType {ENGLISH} (English draughts), found {value!r}{name}"
    for g in np.flatnonzero(chunk.segments["tags"][:, FEN, 0] >= 0).tolist():
        fen = chunk.tag(g, FEN)
        if not fen or fen.isspace():
            continue
        try:
            position = Position.from_fen(fen)
        except PositionError as error:
            refused.setdefault(g, str(error))
            continue
        starts[g] = (
            position.own,
            position.opp,
            position.kings,
            position.halfmove_clock,
            position.black,
            False,
        )
    for g in refused:
        starts[g]["refused"] = True
    return starts, refused
