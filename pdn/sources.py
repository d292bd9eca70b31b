"""PDN text of any size, as chunks of whole games: from files, gzip and zip archives, and standard input.

The form is recognised by the first bytes, not by the name: browsers unpack `.gz` files and keep the name.
"""

import gzip
import os
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ckai.pdn.game import PdnError
from ckai.pdn.lexer import TAG, plain_text, read_tokens, segment

CHUNK = 1 << 21
"""Bytes per read."""
MAX_GAME = 1 << 23
"""Most bytes of a game; a longer one is cut there and read as two."""
STDIN = "-"
"""Path that stands for standard input."""
_FORMS = {
    b"\x1f\x8b": "gzip file",
    b"PK\x03\x04": "zip archive",
    b"PK\x05\x06": "zip archive",  # an empty one
}
_NAME, _ESCAPED = re.compile(r"\w+", re.ASCII), re.compile(r'\\(["\\])')


class OpenedSource:
    """PDN text that is open for reading.

    Attributes:
        name: printable name for messages; of a member of an archive `archive.zip/member.pdn`.
        raw: the file as it is stored, whose `tell()` is the progress; None for standard input and pipes.
    """

    def __init__(self, name: str, file: Any, form: str = "file", raw: IO[bytes] | None = None) -> None:
        self.name, self.raw, self._file, self._form = name, raw, file, form

    def read(self, size: int) -> bytes:
        """Up to `size` bytes of the text, unpacked; PdnError for a damaged archive."""
        with _explained(self.name, self._form):
            block: bytes = self._file.read(size)
        return block


def source_name(path: str | Path) -> str:
    """A path as printable text; file names need not be valid UTF-8."""
    return "standard input" if str(path) == STDIN else os.fsencode(path).decode(errors="replace")


def source_stem(path: str | Path) -> str:
    """The name without folders, `.pdn` and the suffix of a compressed file: `games.pdn.gz` -> `games`."""
    if str(path) == STDIN:
        return "stdin"
    path = Path(path)
    if path.suffix.lower() in (".gz", ".zip"):
        path = path.with_suffix("")
        return path.stem if path.suffix.lower() == ".pdn" else path.name
    return path.stem


def source_size(path: str | Path) -> int:
    """Bytes of a source as it is stored, 0 for standard input and pipes; an error if it is missing."""
    if str(path) == STDIN:
        return 0
    with _explained(source_name(path)):
        size = os.stat(path).st_size
    if os.path.isdir(path):
        raise PdnError("expected a PDN file, found a folder: name the files in it", source_name(path))
    return size


def open_sources(path: str | Path) -> Iterator[OpenedSource]:
    """Open a file, or standard input for `-`: one source, or each `.pdn` member of a zip archive in turn.

    A source is closed when the next one is asked for.

    Raises:
        OSError: if it cannot be opened.
        PdnError: for a folder, a damaged archive, a zip archive without PDN files or through a pipe.
    """
    name, stdin = source_name(path), str(path) == STDIN
    source_size(path)
    with _explained(name):
        raw: Any = sys.stdin.buffer if stdin else open(path, "rb")  # noqa: SIM115 (closed below)
        first = raw.peek(4)  # still to be read
    form = next((form for start, form in _FORMS.items() if first.startswith(start)), "file")
    unpack: Any = gzip.open if form == "gzip file" else nullcontext
    with nullcontext() if stdin else raw:
        progress = None if stdin or not raw.seekable() else raw
        if form != "zip archive":
            with unpack(raw) as file:
                yield OpenedSource(name, file, form, progress)
        elif progress is None:
            raise PdnError("expected PDN or gzip, found a zip archive: save it and name the file", name)
        else:
            yield from _members(raw, name)


def _members(raw: IO[bytes], name: str) -> Iterator[OpenedSource]:
    with _explained(name, "zip archive"):
        archive = zipfile.ZipFile(raw)
    with archive:
        files = [member for member in archive.infolist() if not member.is_dir()]
        # macOS adds resource forks, such as `__MACOSX/._games.pdn`.
        named = [member for member in files if member.filename.lower().endswith(".pdn")]
        chosen = [member for member in named if not Path(member.filename).name.startswith("._")]
        if not chosen:
            listed = ", ".join(m.filename for m in files[:3]) + (", ..." if len(files) > 3 else "")
            raise PdnError(f"expected .pdn files in the zip archive, found {listed or 'none'}", name)
        for member in chosen:
            inside = f"{name}/{member.filename}"
            with _explained(inside, "zip archive"):
                file = archive.open(member)
            with file:
                yield OpenedSource(inside, file, "zip archive", raw)


@contextmanager
def _explained(name: str, form: str = "file") -> Iterator[None]:
    """Let errors of reading a file say which one it is and what to do."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{name}: no such file; check the path") from error
    except Exception as error:
        if form == "file":
            why = getattr(error, "strerror", None) or error
            raise OSError(f"{name}: cannot be read ({why}); check its permissions and the disk") from error
        # Damage has some ten kinds of errors, of three modules.
        raise PdnError(
            f"expected a whole {form}, found one that is damaged, cut short or of an unknown form ({error}): "
            "fetch or pack it again",
            name,
        ) from error


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


def read_chunks(file: OpenedSource | IO[bytes], size: int = CHUNK) -> Iterator[Chunk]:
    """Cut a file into chunks of whole games, with `size` bytes per read.

    The last game of a chunk may continue in the next one, so it always moves there.
    """
    carry = b""
    number, line, offset = 0, 0, 0
    final = False
    while not final:
        block = file.read(size)
        while len(block) < size and (more := file.read(size - len(block))):  # a pipe may give less
            block += more
        final = len(block) < size
        data = carry + block
        long = len(data) >= MAX_GAME
        plain = np.frombuffer(plain_text(data), np.uint8)
        tokens, squares = read_tokens(plain, final or long)
        games = np.empty((len(tokens) + 1, 2), np.int32)
        games = games[: segment(plain, tokens, games)]
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
