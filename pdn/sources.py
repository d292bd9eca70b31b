"""Where PDN text comes from: plain files, gzip, bzip2 and zip archives, and standard input.

The format is recognised by the first bytes, not by the name: browsers unpack `.gz` files and keep the name.
"""

import bz2
import errno
import gzip
import lzma
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from ckai.pdn.errors import PdnError

STDIN = "-"
"""Path that stands for standard input."""
STDIN_NAME = "standard input"

_COMPRESSED = (".gz", ".bz2", ".zip")
_GZIP, _BZIP2, _ZIP = b"\x1f\x8b", b"BZh", b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"


def packed_form(data: bytes) -> str:
    """Name the packed form of a file by its first bytes: gzip file, bzip2 file, zip archive; "" for none."""
    if data.startswith(_GZIP):
        return "gzip file"
    if data.startswith(_BZIP2) and data[3:4].isdigit():
        return "bzip2 file"
    return "zip archive" if data[:4] in (_ZIP, _EMPTY_ZIP) else ""


@dataclass(frozen=True)
class OpenedSource:
    """PDN text that is open for reading.

    Attributes:
        name: printable name for messages; of a member of an archive `archive.zip/member.pdn`.
        file: bytes of the text, unpacked. Reading raises PdnError for a damaged archive and OSError if the
            system cannot read.
        raw: the file as it is stored, whose `tell()` is the progress; None for standard input and pipes.
    """

    name: str
    file: "_Checked"
    raw: IO[bytes] | None = None


def source_name(path: str | Path) -> str:
    """A path as printable text; file names need not be valid UTF-8."""
    return STDIN_NAME if str(path) == STDIN else os.fsencode(path).decode(errors="replace")


def source_stem(path: str | Path) -> str:
    """The name without folders, `.pdn` and the suffix of a compressed file: `games.pdn.gz` -> `games`."""
    if str(path) == STDIN:
        return "stdin"
    path = Path(path)
    if path.suffix.lower() in _COMPRESSED:
        path = path.with_suffix("")
        return path.stem if path.suffix.lower() == ".pdn" else path.name
    return path.stem


def source_size(path: str | Path) -> int:
    """Bytes of a source as it is stored, 0 for standard input and pipes.

    Raises:
        FileNotFoundError: if there is no such file.
        PdnError: if it is a folder.
    """
    if str(path) == STDIN:
        return 0
    try:
        status = os.stat(path)
    except OSError as error:
        raise _read_error(error, source_name(path)) from error
    if stat.S_ISDIR(status.st_mode):
        raise PdnError("expected a PDN file, found a folder: name the files in it", source_name(path))
    return status.st_size


def open_sources(path: str | Path) -> Iterator[OpenedSource]:
    """Open a file, or standard input for `-`: one source, or each `.pdn` member of a zip archive in turn.

    A source is closed when the next one is asked for.

    Raises:
        OSError: if it cannot be opened.
        PdnError: for a folder, a damaged archive, a zip archive without PDN files or through a pipe.
    """
    name = source_name(path)
    source_size(path)
    if str(path) == STDIN:
        with open_stream(sys.stdin.buffer, name) as source:
            yield source
        return
    try:
        raw = open(path, "rb")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise _read_error(error, name) from error
    with raw:
        seekable = raw.seekable()  # a pipe is not: it has no progress, and no archive can be read from it
        if seekable and packed_form(_first_bytes(raw, name)) == "zip archive":
            yield from _members(raw, name)
        else:
            with open_stream(raw, name, raw if seekable else None) as source:
                yield source


def _first_bytes(raw: Any, name: str) -> bytes:
    """The next bytes, still to be read."""
    try:
        first: bytes = raw.peek(4)
    except OSError as error:
        raise _read_error(error, name) from error
    return first


@contextmanager
def open_stream(raw: Any, name: str, progress: IO[bytes] | None = None) -> Iterator[OpenedSource]:
    """Open text that is being read, unpacked if it is a gzip or bzip2 file.

    Args:
        raw: bytes, buffered: with `peek`.
        name: printable name for messages.
        progress: `OpenedSource.raw`.

    Raises:
        OSError: if it cannot be read.
        PdnError: for a zip archive, which cannot be read in one pass.
    """
    form = packed_form(_first_bytes(raw, name))
    if form == "zip archive":
        raise PdnError("expected PDN, gzip or bzip2, found a zip archive: save it and name the file", name)
    unpack: Any = {"gzip file": gzip.open, "bzip2 file": bz2.open}.get(form, nullcontext)
    with unpack(raw) as file:
        yield OpenedSource(name, _Checked(file, name, form or "file"), progress)


def _members(raw: IO[bytes], name: str) -> Iterator[OpenedSource]:
    with _damage(name, "zip archive"):
        archive = zipfile.ZipFile(raw)
    with archive:
        with _damage(name, "zip archive"):
            files = [member for member in archive.infolist() if not member.is_dir()]
        chosen = [m for m in files if m.filename.lower().endswith(".pdn") and not _hidden(m.filename)]
        if not chosen:
            listed = ", ".join(m.filename for m in files[:3]) + (", ..." if len(files) > 3 else "")
            raise PdnError(f"expected .pdn files in the zip archive, found {listed or 'none'}", name)
        for member in chosen:
            inside = f"{name}/{member.filename}"
            if member.flag_bits & 1:
                raise PdnError("expected a zip archive without a password, found an encrypted file", inside)
            with _damage(inside, "zip archive"):
                file = archive.open(member)
            with file:
                yield OpenedSource(inside, _Checked(file, inside, "zip archive"), raw)


def _hidden(name: str) -> bool:
    """Whether a member is a resource fork that macOS adds (`__MACOSX/._games.pdn`)."""
    return name.startswith("__MACOSX/") or name.rsplit("/", 1)[-1].startswith("._")


class _Checked:
    """A file whose read errors say what to do."""

    def __init__(self, file: Any, name: str, form: str) -> None:
        self._file, self.name, self._form = file, name, form

    def read(self, size: int) -> bytes:
        with _damage(self.name, self._form):
            block: bytes = self._file.read(size)
        return block


_DAMAGE = (
    EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError,
    UnicodeDecodeError, IndexError,  # of the names in a zip archive
)  # fmt: skip
"""What reading a compressed file may raise, besides OSError."""


@contextmanager
def _damage(name: str, form: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise _damaged(error, name, form) from error
    except OSError as error:
        # Raised by gzip and bz2, not by the system; or the place of a member is before the archive.
        if error.errno is None or (form == "zip archive" and error.errno == errno.EINVAL):
            raise _damaged(error, name, form) from error
        raise _read_error(error, name) from error


def _damaged(error: Exception, name: str, form: str) -> PdnError:
    return PdnError(
        f"expected a whole {form}, found one that is damaged, cut short or of an unknown form ({error}): "
        "fetch or pack it again",
        name,
    )


def _read_error(error: OSError, name: str) -> OSError:
    if error.errno is None:  # one of these
        return error
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"{name}: no such file; check the path")
    why = error.strerror or error
    return OSError(f"{name}: cannot be read ({why}); check its permissions and the disk")
