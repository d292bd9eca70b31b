"""Atomic file writes: after a kill or on a full disk, a file is either complete or as it was before.

Also locks that keep a second process off the same work, and the removal of what killed processes left.
"""

import errno
import glob
import hashlib
import itertools
import os
import shutil
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

PNG = b"\x89PNG\r\n\x1a\n"
"""The first bytes of a PNG."""

_calls = itertools.count()


class LockedError(RuntimeError):
    """Another process works on the same files; says what to do.

    Attributes:
        holder: that process, such as `process 4711`.
    """

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path}: held by {holder}; wait for it or stop it")
        self.holder = holder


class WriteError(OSError):
    """A file that could not be written; an existing file of that name is unchanged."""

    @classmethod
    def of(cls, error: OSError, path: Path) -> "WriteError":
        """Return the error of a file that could not be written for the reason of another error."""
        return cls(error.errno, error.strerror or str(error), str(path))

    def __str__(self) -> str:
        return (
            f"{self.filename}: cannot be written ({self.strerror}); an existing file is unchanged: free "
            "disk space or fix the permissions, and try again"
        )


class ForeignFileError(ValueError):
    """A file that ckai did not write, or not by this command, where it was to write one; says what to do."""


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or the name of its class if it has none."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def make_parent(path: Path) -> None:
    """Make the folder of a file that is going to be written.

    Raises:
        WriteError: the folder cannot be made, or `path` is a folder, a device or a pipe.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() else stat.S_IFREG
    except OSError as error:
        raise WriteError.of(error, path) from error
    if not stat.S_ISREG(mode):
        # Renaming would replace a device by a file.
        raise WriteError(None, "not a regular file", str(path))


def save_figure(path: Path, figure: Any, dpi: int) -> None:
    """Write a figure of matplotlib as a PNG, atomically.

    Raises:
        ForeignFileError: `path` does not end in .png, or is a file of another format.
        WriteError: it cannot be written.
    """
    if path.suffix != ".png":
        raise ForeignFileError(f"{path}: expected a name that ends in .png: plots are PNG files")
    if path.is_file() and path.stat().st_size and not _begins(path, PNG):
        raise ForeignFileError(f"{path}: expected a PNG to replace, found another file; choose another name")
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=dpi)


def _begins(path: Path, first: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(first)) == first


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def temporary_path(path: Path) -> Path:
    """A hidden name beside `path`, `.name.PID.N.tmp`: no other process, thread or call is given the same."""
    return path.with_name(f".{path.name}.{os.getpid()}.{next(_calls)}.tmp")


def remove_temporaries(folder: Path, of: str | None = None, skip: str | None = None) -> None:
    """Remove the temporary files and folders that killed processes left; what cannot be removed stays.

    Files that a process is writing stay too: it holds them, see `held`.

    Args:
        folder: where to look. No other process may be making temporary folders there: see `locked`.
        of: only those of the file of this name in the folder itself; None: all, in the folders below too.
        skip: name of a folder in it that is left alone.
    """
    found = folder.rglob(".*.tmp") if of is None else folder.glob(f".{glob.escape(of)}.*.tmp")
    for path in list(found):
        if path.relative_to(folder).parts[0] == skip:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif not is_locked(path):
            with suppress(OSError):
                path.unlink()


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Create a temporary file and lock it during a `with` block: `remove_temporaries` leaves it alone.

    Raises:
        OSError: it cannot be created.
    """
    with path.open("a") as file:
        _flock(file)
        yield


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Keep a name for a file that is written at the end of a `with` block, so that no other process takes it.

    A file that does not exist is created empty, and removed at the end if it still is empty.

    Raises:
        LockedError: another process has claimed it.
        WriteError: it cannot be created.
    """
    make_parent(path)
    try:
        file = path.open("a")
    except OSError as error:
        raise WriteError.of(error, path) from error
    with file:
        if not _flock(file):
            raise LockedError(path, "another process")
        try:
            yield
        finally:
            with suppress(OSError):
                if not path.stat().st_size:
                    path.unlink()


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file during a `with` block; a process that dies frees it, and the file stays.

    The file contains the PID and the host of the process that holds it, or held it last.

    Args:
        path: the lock file. Its folder is made if missing.

    Raises:
        LockedError: another process, or another block of this one, holds it.
        WriteError: it cannot be created.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+")
    except OSError as error:
        raise WriteError.of(error, path) from error
    with file:
        # `is_locked` in another process may have it for an instant.
        if not any(_flock(file, wait) for wait in (0.0, 0.05, 0.1)):
            file.seek(0)
            pid, _, host = file.read().strip().partition(" ")
            where = f" on {host}" if host not in ("", socket.gethostname()) else ""
            raise LockedError(path, f"process {pid}{where}" if pid.isdecimal() else "another process")
        holder = f"{os.getpid()} {socket.gethostname()}".encode()
        with suppress(OSError):  # a full disk: it is only for messages
            os.ftruncate(file.fileno(), 0)
            os.write(file.fileno(), holder)  # nothing stays in a buffer
        yield


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock file `path`; False where that cannot be seen."""
    try:
        with path.open() as file:
            return not _flock(file, shared=True)
    except OSError:
        return False


_NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, 524)
"""What file systems without locks answer, such as Lustre mounted without them; 524 is ENOTSUPP of NFS."""


def _flock(file: IO[str], wait: float = 0.0, *, shared: bool = False) -> bool:
    """Lock a file after `wait` seconds unless another holds it; systems without such locks go unguarded."""
    try:
        import fcntl
    except ImportError:
        return True
    time.sleep(wait)
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write bytes under a temporary name beside `path` (see `temporary_path`), renamed to `path` at the end.

    At the end of the `with` block the file is flushed to the disk and replaces `path`. After an error inside
    the block the temporary file is removed and `path` is as it was.

    Raises:
        WriteError: if it cannot be written.
    """
    temporary = temporary_path(path)
    make_parent(path)
    try:
        with held(temporary):  # until it has its name: else another process might remove it
            with temporary.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError):
            raise WriteError.of(error, path) from error
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
