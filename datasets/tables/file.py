"""Table files: checksummed, written whole, and mapped into memory, so that processes share them.

b"ckai tables 2\\n"    the format
8 hexadecimal digits, \\n   CRC-32 of all that follows
JSON, \\n             pieces, counts
values                one byte a position, in the order of `TableLayout`
"""

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckai.datasets.files import whole_file
from ckai.datasets.tables.layout import TableLayout, make_layout

FORMAT = b"ckai tables 2\n"


def write_tables(path: Path, values: NDArray[np.uint8], header: dict[str, Any]) -> None:
    """Write values, see `ckai.datasets.tables.solve`, and a header with `pieces`, atomically."""
    text = json.dumps(header).encode() + b"\n"
    with whole_file(path) as file:
        file.write(FORMAT + f"{zlib.crc32(values.data, zlib.crc32(text)):08x}\n".encode() + text)
        file.write(values.data)


def read_tables(path: Path) -> tuple[TableLayout, NDArray[np.uint8], dict[str, Any]]:
    """Verify a table file; return layout, values mapped into memory, and header; ValueError if damaged."""
    command = f"ckai tables build --pieces {path.stem.removeprefix('tables-')}"
    try:
        with path.open("rb") as file:
            start, checksum, text = file.readline(len(FORMAT)), file.readline(16), file.readline()
            at, size = file.tell(), path.stat().st_size
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file; `{command}` builds it") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror or error})") from error
    again = f"build it again with `{command} --force`"
    if start != FORMAT:
        found = start.decode("ascii", "replace").strip()
        raise ValueError(f"{path}: expected {FORMAT.decode().strip()!r}, found {found!r}; {again}")
    # Copy-on-write, not read-only: Numba would compile every kernel again for read-only arrays.
    values = np.asarray(np.memmap(path, np.uint8, "c", at)) if at < size else np.empty(0, np.uint8)
    found = f"{zlib.crc32(values.data, zlib.crc32(text)):08x}"
    if found.encode() != checksum.strip():
        expected = checksum.decode("ascii", "replace").strip()
        raise ValueError(
            f"{path}: expected the checksum {expected}, found {found}: the file is damaged or cut short; "
            f"{again}"
        )
    header: dict[str, Any] = json.loads(text)
    return make_layout(header["pieces"]), values, header
