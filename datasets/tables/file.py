"""Table files: compressed, checksummed, written atomically.

    b"ckai tables 1\n"          the format
    64 hexadecimal digits, \n   SHA-256 of all that follows
    8 bytes                     length of the header, little-endian
    header                      JSON: pieces, crc (of all values), longest, counts, blocks (bytes of each)
    blocks                      one LZMA stream a class, in the order of `TableLayout`

Large tables are unpacked once into a file beside it and mapped into memory, so that processes share them and
load only the pages they use. Both files are verified each time they are opened.
"""

import hashlib
import json
import lzma
import re
import shlex
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import remove_temporaries, write_whole
from ckai.datasets.machine import cache_folder
from ckai.datasets.tables.layout import TableLayout, make_layout

FORMAT = b"ckai tables 1\n"
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "pb": 0}]
SMALL = 2**23
"""Tables of up to this many bytes of values are unpacked into memory instead of a file."""


class TableError(ValueError):
    """A table file that cannot be used; names the file, what was expected and what it has instead."""


def write_tables(path: Path, layout: TableLayout, values: NDArray[np.uint8], extra: dict[str, Any]) -> None:
    """Write tables atomically.

    Args:
        path: the file.
        layout: of the values.
        values: `[positions]` uint8, see `ckai.datasets.tables.solve`.
        extra: further entries of the header.
    """
    blocks = [
        lzma.compress(layout.part(values, of).tobytes(), lzma.FORMAT_RAW, filters=_FILTERS)
        for of in layout.classes
    ]
    header = {
        **extra,
        "pieces": layout.pieces,
        "crc": zlib.crc32(values.data),
        "blocks": [len(block) for block in blocks],
    }
    text = json.dumps(header).encode()
    body = b"".join([len(text).to_bytes(8, "little"), text, *blocks])
    write_whole(path, FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def read_header(path: Path) -> tuple[dict[str, Any], bytes]:
    """Read and verify the header of a table file and its compressed blocks.

    Raises:
        TableError: a file that is missing, of another format, cut short or damaged.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise TableError(f"{path}: no such file; `{_command(path)}` builds it") from None
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not data.startswith(FORMAT):
        start = data[: len(FORMAT)].decode("ascii", "replace").split("\n")[0]
        raise TableError(f"{path}: expected {FORMAT.decode().strip()!r}, found {start!r}; {_again(path)}")
    digest, _, body = data[len(FORMAT) :].partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise TableError(
            f"{path}: expected the checksum {digest[:12].decode('ascii', 'replace')}..., found another: "
            f"the file is damaged or cut short; {_again(path)}"
        )
    length = int.from_bytes(body[:8], "little")
    header: dict[str, Any] = json.loads(body[8 : 8 + length])
    return header, body[8 + length :]


def read_tables(path: Path) -> tuple[TableLayout, NDArray[np.uint8], dict[str, Any]]:
    """Read the layout, values and header of a table file; large ones are mapped into memory.

    Raises:
        TableError: see `read_header`.
        OSError: the unpacked values cannot be written beside the file.
    """
    header, blocks = read_header(path)
    layout = make_layout(header["pieces"])
    if layout.positions <= SMALL:
        return layout, _unpack(layout, header, blocks), header
    raw = path.with_suffix(".values")
    if not _is_intact(raw, layout, header):
        remove_temporaries(raw.parent, of=raw.name)
        write_whole(raw, _unpack(layout, header, blocks).data)
    # Copy-on-write, not read-only: Numba would compile every kernel again for read-only arrays.
    return layout, np.asarray(np.memmap(raw, np.uint8, "c")), header


def _command(path: Path) -> str:
    """The command that builds a table file."""
    words = ["ckai tables build"]
    if pieces := re.fullmatch(r"tables-([2-6])\.ckt", path.name):
        words.append(f"--pieces {pieces[1]}")
    if path.parent != cache_folder():
        words.append(f"--folder {shlex.quote(str(path.parent))}")
    return " ".join(words)


def _again(path: Path) -> str:
    return f"build it again with `{_command(path)} --force`"


def _unpack(layout: TableLayout, header: dict[str, Any], blocks: bytes) -> NDArray[np.uint8]:
    values = np.empty(layout.positions, np.uint8)
    at = 0
    for of, length in zip(layout.classes, header["blocks"], strict=True):
        block = lzma.decompress(blocks[at : at + length], lzma.FORMAT_RAW, filters=_FILTERS)
        layout.part(values, of)[:] = np.frombuffer(block, np.uint8)
        at += length
    return values


def _is_intact(raw: Path, layout: TableLayout, header: dict[str, Any]) -> bool:
    """Whether the unpacked values exist and match the header."""
    try:
        if raw.stat().st_size != layout.positions:
            return False
        return bool(zlib.crc32(np.memmap(raw, np.uint8, "r").data) == header["crc"])
    except OSError:
        return False
