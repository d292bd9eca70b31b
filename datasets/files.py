"""Atomic file writes: after a kill or on a full disk, a file is either complete or as it was before."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


class WriteError(OSError):
    """A file that could not be written; an existing file of that name is unchanged."""

    def __str__(self) -> str:
        return (
            f"{self.filename}: cannot be written ({self.strerror}); an existing file is unchanged: free "
            "disk space or fix the permissions, and try again"
        )


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write bytes under a temporary name beside `path` (`.name.PID.tmp`), renamed to `path` at the end.

    At the end of the `with` block the file is flushed to the disk and replaces `path`. After an error inside
    the block the temporary file is removed and `path` is as it was.

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
    with suppress(OSError):  # not every system can open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_whole(path: Path, data: Any) -> None:
    """Write bytes, or text as UTF-8, atomically; see `whole_file`."""
    with whole_file(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
