"""Read a file of any size in bounded memory, as chunks of whole games."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ckai.game import Position, PositionError
from ckai.game.text import printable
from ckai.pdn.errors import PdnError
from ckai.pdn.kernels import START
from ckai.pdn.lexer import Tokens, count_lines, read_tokens
from ckai.pdn.segments import BLACK, ENGLISH, FEN, GAME_TYPE, RED, TERMINATION, find_games

CHUNK = 1 << 21
"""Bytes per read."""
MAX_GAME = 1 << 23
"""Most bytes of a game; a longer one is cut there and read as two."""

GAME_TYPES = {
    0: "chess", 1: "Chinese chess", 20: "international draughts", 22: "Italian draughts",
    23: "American pool checkers", 24: "Spanish draughts", 25: "Russian draughts", 26: "Brazilian draughts",
    27: "Canadian draughts", 28: "Portuguese draughts", 29: "Czech draughts", 30: "Turkish draughts",
    31: "Thai draughts", 40: "Frisian draughts", 41: "Spantsiretti",
}  # fmt: skip
"""Games by number of the GameType tag (PDN 3.0)."""


class Readable(Protocol):
    """What `read_chunks` reads: a file open for reading bytes, or part of one."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes, none only at the end."""
        ...


@dataclass(frozen=True)
class Chunk:
    """Whole games of a source."""

    data: NDArray[np.uint8]
    read: Tokens
    segments: NDArray[Any]
    """[G] SEGMENT."""
    number: int
    """Games of the source before its first one."""
    line: int
    """0-based line of its first byte."""
    offset: int
    """Position of its first byte in the file."""

    def text(self, start: int, end: int) -> str:
        """Decode bytes as UTF-8, or as cp1252 if they are not."""
        raw = self.data[start:end].tobytes()
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return raw.decode("cp1252", errors="replace")

    def tag(self, g: int, which: int) -> str | None:
        """The value of tag `segments.TAG_NAMES[which]` of game `g`, None if it is missing; Red is Black."""
        start, end = self.segments[g]["tags"][which].tolist()
        if start < 0:
            return self.tag(g, RED) if which == BLACK else None
        return unescape(self.text(start, end))


_ESCAPED = re.compile(r'\\(["\\])')


def unescape(value: str) -> str:
    """A tag's value without its backslashes."""
    return _ESCAPED.sub(r"\1", value) if "\\" in value else value


def read_chunks(file: Readable, size: int = CHUNK, *, from_zero: bool = False) -> Iterator[Chunk]:
    """Cut a file into chunks of whole games.

    The last game of a chunk may continue in the next one, so it always moves there.

    Args:
        file: open for reading bytes.
        size: bytes per read.
        from_zero: read the squares of moves as numbered from 0.

    Raises:
        PdnError: if the file is UTF-16.
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
        long = len(data) >= MAX_GAME
        read = read_tokens(data, final or long)
        if from_zero:
            np.add(read.squares, 1, out=read.squares, where=read.squares < 255)
        segments = find_games(data, read)
        if final or (long and len(segments) < 2):
            keep = len(data)
        elif len(segments) < 2:
            carry = data.tobytes()
            continue
        else:
            keep = int(segments[-1]["start"])
            segments = segments[:-1]
        yield Chunk(data, read, segments, number, line, offset)
        number += len(segments)
        line += int(count_lines(data, 0, keep))
        offset += keep
        carry = data[keep:].tobytes()


def _read(file: Readable, size: int) -> bytes:
    """Read exactly `size` bytes, fewer only at the end of the file: one read of a pipe may return fewer."""
    block = file.read(size)
    while 0 < len(block) < size:
        more = file.read(size - len(block))
        if not more:
            break
        block += more
    return block


_FORFEIT = re.compile(
    r"\b(time|timeout|forfeit\w*|default|illegal|infraction|disconnect\w*|abandon\w*|death|emergency"
    r"|crash\w*)\b",
    re.IGNORECASE,
)
"""Words of a Termination tag that says that the moves did not decide the result, those of the PGN standard
among them ("time forfeit", "rules infraction", "abandoned")."""


def first_positions(chunk: Chunk) -> tuple[NDArray[Any], dict[int, str]]:
    """Find the first position of each game, and whether its result was not played, by its Termination tag.

    Returns:
        `[G]` START, and the reason by game of the chunk for those to reject.
    """
    starts = np.zeros(len(chunk.segments), START)
    initial = Position.start()
    starts["own"], starts["opp"], starts["black"] = initial.own, initial.opp, True
    refused: dict[int, str] = {}
    for g in np.flatnonzero(chunk.segments["game_type"] != ENGLISH).tolist():
        number = int(chunk.segments[g]["game_type"])
        value = printable(chunk.tag(g, GAME_TYPE) or "", most=40)
        name = f" ({GAME_TYPES[number]})" if number in GAME_TYPES else ""
        refused[g] = f"expected GameType {ENGLISH} (English draughts), found {value!r}{name}"
    for g in np.flatnonzero(chunk.segments["tags"][:, FEN, 0] >= 0).tolist():
        fen = chunk.tag(g, FEN)
        if not fen or fen.isspace():
            continue
        try:
            position = Position.from_fen(fen)
        except PositionError as error:
            refused.setdefault(g, printable(str(error), most=300))
            continue
        starts[g] = (
            position.own,
            position.opp,
            position.kings,
            position.halfmove_clock,
            position.black,
            False,
            False,
        )
    for g in np.flatnonzero(chunk.segments["tags"][:, TERMINATION, 0] >= 0).tolist():
        starts[g]["forfeit"] = _FORFEIT.search(chunk.tag(g, TERMINATION) or "") is not None
    for g in refused:
        starts[g]["refused"] = True
    return starts, refused
