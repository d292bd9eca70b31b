"""Files: written whole or not at all, never replaced unasked, locked while in use. Plots."""

import hashlib
import itertools
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import psutil
from filelock import FileLock, Timeout

_calls = itertools.count()


class LockedError(RuntimeError):
    """Another process works on the same files; says what to do."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: held by another process; wait for it or stop it")


class WriteError(OSError):
    """A file that could not be written; an existing file of that name is unchanged."""

    @classmethod
    def of(cls, error: OSError, path: Path) -> "WriteError":
        """Return the error of a file that could not be written for the reason of another error."""
        # pyarrow writes more than the reason of the system into `strerror`.
        return cls(error.errno, os.strerror(error.errno) if error.errno else first_line(error), str(path))

    def __str__(self) -> str:
        return (
            f"{self.filename}: cannot be written ({self.strerror}); an existing file is unchanged: free "
            "disk space or fix the permissions, and try again"
        )


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or the name of its class if it has none."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__


def refuse_to_replace(path: Path, force: bool) -> None:
    """Check that a file may be written, before the work whose result it gets; make its folder.

    Raises:
        FileExistsError: the file exists, and `force`, the value of `--force`, is not set.
        WriteError: see `make_parent`.
    """
    make_parent(path)
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists: give --force to replace it, or another -o")


def make_parent(path: Path) -> None:
    """Make the folder of a file to be written; WriteError if it cannot be, or `path` is no regular file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode if path.exists() else stat.S_IFREG
    except OSError as error:
        raise WriteError.of(error, path) from error
    if not stat.S_ISREG(mode):
        # Renaming would replace a device by a file.
        raise WriteError(None, "not a regular file", str(path))


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write bytes under a temporary name next to `path` (see `temporary_path`), renamed to `path` at the end.

    At the end of the `with` block the file is flushed to the disk and replaces `path`. After an error inside
    the block the temporary file is removed and `path` is as it was.

    Raises:
        WriteError: if it cannot be written.
    """
    temporary = temporary_path(path)
    make_parent(path)
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        rename(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and str(error.filename or temporary) == str(temporary):
            raise WriteError.of(error, path) from error
        raise
    with suppress(OSError):  # not every system can open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def rename(source: Path, target: Path) -> None:
    """Rename a file or folder, and replace what has the name.

    Windows refuses while somebody has either open; that is tried again for two seconds.
    """
    until = time.monotonic() + 2
    while True:
        try:
            source.replace(target)
            return
        except PermissionError as error:
            if getattr(error, "winerror", None) is None or time.monotonic() > until:
                raise
        time.sleep(0.02)


def write_whole(path: Path, data: Any) -> None:
    """Write bytes, or text as UTF-8, atomically; see `whole_file`."""
    with whole_file(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)


def save_figure(path: Path, figure: Any, dpi: int) -> None:
    """Write a figure of matplotlib as a PNG, atomically; ValueError for another suffix."""
    if path.suffix != ".png":
        raise ValueError(f"{path}: expected a name that ends in .png: plots are PNG files")
    with whole_file(path) as file:
        figure.savefig(file, format="png", dpi=dpi)


def plot_panels(
    path: Path,
    panels: Mapping[str, Mapping[str, str]],
    along: str,
    history: Sequence[Mapping[str, Any]],
    title: str = "",
) -> None:
    """Plot measurements as a PNG.

    Args:
        path: the file.
        panels: of each, by its title, the columns that it shows, with their labels.
        along: the column of the x axis.
        history: rows by column; those without a column, or with None, are left out of its line. A line that
            would cover another one of its panel, to four digits, is left out.
        title: above all of them.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    columns = min(len(panels), 4 if len(panels) % 3 else 3)
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(4.5 * columns, 4 * lines), layout="constrained")
    every = figure.subplots(lines, columns, squeeze=False).flat
    for axes, (name, shown) in zip(every, panels.items(), strict=False):
        drawn: list[list[tuple[Any, float]]] = []
        for key, label in shown.items():
            points = [(row[along], float(f"{row[key]:.4g}")) for row in history if row.get(key) is not None]
            if points and points not in drawn:
                axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=label)
                drawn.append(points)
        axes.set(xlabel=along, title=name)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        if axes.lines:  # below: within, the best place takes seconds to find in a long run
            axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2)
    figure.suptitle(title)
    save_figure(path, figure, 110)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def temporary_path(path: Path) -> Path:
    """A hidden name next to `path`, `.name.PID.N.tmp`: no other process, thread or call is given the same."""
    return path.with_name(f".{path.name}.{os.getpid()}.{next(_calls)}.tmp")


def remove_temporaries(folder: Path, of: str | None = None, skip: str | None = None) -> None:
    """Remove the temporary files and folders that killed processes left; what cannot be removed stays.

    Args:
        folder: where to look. No other process may be making temporary folders there: see `locked`.
        of: only those of the file of this name in the folder itself; None: all, in the folders below too.
        skip: name of a folder in it that is left alone.
    """
    for path in list(folder.rglob(".*.tmp") if of is None else folder.glob(".*.tmp")):
        if path.relative_to(folder).parts[0] == skip or (of and not path.name.startswith(f".{of}.")):
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                if not _is_being_written(path):
                    path.unlink()


def _is_being_written(temporary: Path) -> bool:
    """Whether the process that made a temporary file still runs, and not a later one with its number."""
    try:
        _, pid, _, _ = temporary.name.rsplit(".", 3)
        begun: float = psutil.Process(int(pid)).create_time()
    except (ValueError, psutil.Error):
        return False
    return begun < temporary.stat().st_mtime + 2  # the clock of the starts may be a second off


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file during a `with` block; a process that dies frees it, and the file stays.

    Raises:
        LockedError: another process, or another block of this one, holds it.
        WriteError: it cannot be created.
    """
    make_parent(path)
    try:
        # Not 0: `is_locked` in another process may have it for an instant.
        lock = FileLock(path).acquire(timeout=0.2)
    except Timeout:
        raise LockedError(path) from None
    except OSError as error:
        raise WriteError.of(error, path) from error
    with lock:
        yield


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock file `path`; False where that cannot be seen."""
    if not path.exists():
        return False
    try:
        with FileLock(path, timeout=0):
            return False
    except (Timeout, OSError) as error:
        return isinstance(error, Timeout)
