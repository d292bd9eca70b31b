"""Files that are whole or not there: whatever a kill or a full disk does, no reader meets half of one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


class WriteError(OSError):
    """A file that could not be written; what stood under its name is untouched."""

    def __str__(self) -> str:
        return (
            f"{self.filename}: cannot be written ({self.strerror}); what was there is untouched: make room "
            "or give access, and start again"
        )


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write bytes to, under a temporary name beside `path` (`.name.PID.tmp`).

    At the end of the `with` block it is flushed to the disk and renamed; what stood under the name is
    replaced. After an error inside the block the temporary file is gone and `path` is as it was.

    Raises:
        WriteError: if it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise WriteError(error.errno, error.strerror or str(error), str(path)) from error
        raise
    with suppress(OSError):  # some systems cannot open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_whole(path: Path, data: Any) -> None:
    """Write bytes, or text in UTF-8, as one whole file; see `whole_file`."""
    with whole_file(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
