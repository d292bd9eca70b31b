"""Workers that join a run in its folder, on machines that see it: no server, only renames.

They leave what they deliver in `joined/`, in files WORKER-NUMBER.parquet that are written whole. It exists
while the process of the run works, or after it was killed; `joined/version` has the version of ckai.
"""

import itertools
import os
import secrets
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from ckai.datasets.files import WriteError, files_in, temporary_path, write_whole
from ckai.rl.workers.delivery import ckai_version
from ckai.rl.workers.worker import WorkerError, WorkerSetup

FOLDER, VERSION = "joined", "version"
"""Names of the folder in that of the run, and of the file in it with the version of ckai."""


class Workers(Protocol):
    """The workers of a run, seen from its process; used by one thread at a time."""

    plays_here: bool
    """Whether the process of the run plays too."""
    warnings: list[str]
    """What went wrong, each one line; the caller empties it."""

    def begin(self, generation: int, setup_of: Callable[[int], WorkerSetup]) -> None:
        """Begin a generation, or continue it; `setup_of` returns what workers need to play for one."""

    def deliveries(self) -> Iterator[tuple[str, bytes]]:
        """Yield what has come, named, several times a second; each is kept when the next is asked for."""

    def end(self) -> None:
        """End a generation that has its games."""

    def close(self) -> None:
        """End the work for the run."""


class JoinedWorkers:
    """The workers that join in the folder of a run, see `Workers`."""

    plays_here = True

    def __init__(self, run: Path) -> None:
        """Begin; `run` is the folder of the run."""
        self.folder, self.warnings = run / FOLDER, list[str]()
        self._warned = set[str]()

    def begin(self, generation: int, setup_of: Callable[[int], WorkerSetup]) -> None:
        """See `Workers`.

        Raises:
            WriteError: the folder cannot be written.
        """
        write_whole(self.folder / VERSION, ckai_version())

    def deliveries(self) -> Iterator[tuple[str, bytes]]:
        """See `Workers`."""
        for path in files_in(self.folder, "*.parquet"):
            try:
                data = path.read_bytes()
            except OSError as error:  # of another user; it may be readable later
                self._warn(
                    f"{path}: expected a file that can be read ({error.strerror}); check its permissions"
                )
                continue
            yield path.name, data
            path.unlink(missing_ok=True)

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self.warnings.append(text)
            self._warned.add(text)

    def end(self) -> None:
        """See `Workers`; workers see that the generation is over."""

    def close(self) -> None:
        """Do nothing: who stops and continues finds what was delivered meanwhile."""


def remove_joined(run: Path) -> None:
    """Remove the folder for workers from a run that has all its generations; what comes late is dropped."""
    folder = run / FOLDER
    if folder.is_dir():
        left = temporary_path(folder)
        folder.rename(left)
        shutil.rmtree(left, ignore_errors=True)


class Deliveries:
    """Leaves deliveries for a run, under a name of this process."""

    def __init__(self, run: Path) -> None:
        """Choose a name; `run` is the folder of the run."""
        host = "".join(c if c.isalnum() else "-" for c in socket.gethostname())
        # Containers that share a host name, or one that is started again, may have equal PIDs.
        self.name = f"{host}-{os.getpid()}-{secrets.token_hex(3)}"
        self._folder, self._numbers = run / FOLDER, itertools.count()

    def check_version(self) -> None:
        """Compare the version of ckai with the one of the run's process.

        Raises:
            WorkerError: it is another one.
        """
        path = self._folder / VERSION
        found = path.read_text(encoding="utf-8") if path.exists() else ckai_version()
        if found != ckai_version():
            raise WorkerError(
                f"expected ckai {found} as in the run's process, found {ckai_version()}; install the same "
                "version on all machines"
            )

    def leave(self, data: bytes) -> None:
        """Leave a delivery, unless the run is over.

        Raises:
            WriteError: it cannot be written.
        """
        if not self._folder.is_dir():
            return
        try:
            write_whole(self._folder / f"{self.name}-{next(self._numbers):06d}.parquet", data)
        except WriteError:
            if self._folder.is_dir():  # not removed meanwhile
                raise
