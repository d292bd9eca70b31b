"""Where PDN text comes from: plain files, gzip and zip archives, and standard input.

The format is recognised by the first bytes, not by the name: browsers unpack `.gz` files and keep the name.
"""

import errno
import gzip
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from ckai.pdn.errors import PdnError

STDIN = "-"
"""Path that stands for standard input."""
_FORMS = {
    b"\x1f\x8b": "gzip file",
    b"PK\x03\x04": "zip archive",
    b"PK\x05\x06": "zip archive",  # an empty one
}
_DAMAGE = (
    EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, RuntimeError,  # a password
    UnicodeDecodeError, IndexError,  # of the names in a zip archive
)  # fmt: skip
"""What reading a compressed file may raise, besides OSError."""


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
    except (*_DAMAGE, OSError) as error:
        # An OSError without a number is gzip's, or the place of a member is before the archive.
        number = error.errno if isinstance(error, OSError) else None
        if number is not None and not (form == "zip archive" and number == errno.EINVAL):
            why = error.strerror if isinstance(error, OSError) else error
            raise OSError(f"{name}: cannot be read ({why}); check its permissions and the disk") from error
        raise PdnError(
            f"expected a whole {form}, found one that is damaged, cut short or of an unknown form ({error}): "
            "fetch or pack it again",
            name,
        ) from error
