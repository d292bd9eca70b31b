"""Leases in the run folder, for processes on machines that see it: no server, only renames.

    leases/open/NAME.json                a lease to take
    leases/held/NAME@WORKER.json         a lease that was taken: renamed by its holder
    leases/shards/NAME@WORKER.parquet    its games, for the run to commit
    leases/workers/WORKER.json           its heartbeat: a count that it increases, and what it measured

A rename succeeds for one process only, so a lease has one holder. Clocks of different machines are never
compared: the run notes when the file of a worker last changed.
"""

import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from ckai.datasets.files import WriteError, remove_temporaries, write_whole
from ckai.rl.leases.config import WorkersConfig
from ckai.rl.leases.lease import Lease
from ckai.rl.leases.ledger import Ledger, lease_size
from ckai.rl.leases.worker import LEASES, WorkerSetup
from ckai.rl.leases.workers import HEARTBEAT_SECONDS, Heartbeat
from ckai.rl.selfplay.shards import ShardError

FOLDER = "leases"
"""Name of the folder in that of the run; it exists only while others work for the run."""
PARTS = ("open", "held", "shards", "workers")


class LeaseClient:
    """The side of a worker: takes leases and leaves shards."""

    def __init__(self, folder: Path) -> None:
        """Choose a name and send the first heartbeat.

        Args:
            folder: folder of the run.

        Raises:
            WriteError: the folder cannot be written.
        """
        self.folder = folder / FOLDER
        host = "".join(c if c.isalnum() else "-" for c in socket.gethostname())
        # Containers that share a host name, or one that is started again, may have equal PIDs.
        self.name = f"{host}-{os.getpid()}-{secrets.token_hex(3)}"
        self._heartbeat = Heartbeat()
        self.send(self._heartbeat)

    def send(self, heartbeat: Heartbeat) -> None:
        """Send a heartbeat; its count is increased.

        Raises:
            WriteError: the folder cannot be written.
        """
        heartbeat.count = self._heartbeat.count + 1
        self._heartbeat = heartbeat
        # A run that ends removes them if it takes this worker for dead, as after a laptop's sleep.
        for part in PARTS:
            try:
                (self.folder / part).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise WriteError(error.errno, error.strerror or str(error), str(self.folder)) from error
        write_whole(self.folder / "workers" / f"{self.name}.json", json.dumps(asdict(heartbeat)) + "\n")

    def take(self) -> Lease | None:
        """Take an open lease of the lowest generation; None if there is none.

        Raises:
            ValueError: the lease is of another version of ckai; it is put back by `leave`.
        """
        for path in sorted((self.folder / "open").glob("*.json")):
            held = self.folder / "held" / f"{path.stem}@{self.name}.json"
            with suppress(FileNotFoundError):  # another was faster, or the run took it back
                path.rename(held)
                return Lease.from_json(held.read_text(encoding="utf-8"))
        return None

    def deliver(self, lease: Lease, shard: bytes) -> None:
        """Leave the shard of a lease for the run.

        Raises:
            WriteError: it cannot be written.
        """
        write_whole(self.folder / "shards" / f"{lease.name}@{self.name}.parquet", shard)
        (self.folder / "held" / f"{lease.name}@{self.name}.json").unlink(missing_ok=True)

    def leave(self, over: bool) -> None:
        """Put back what is held and take the name off the list.

        Args:
            over: whether the run has all its generations; then the last worker removes the folder.
        """
        for held in (self.folder / "held").glob(f"*@{self.name}.json"):
            with suppress(FileNotFoundError):  # the run took it back
                held.rename(self.folder / "open" / f"{held.stem.partition('@')[0]}.json")
        (self.folder / "workers" / f"{self.name}.json").unlink(missing_ok=True)
        if over and not any((self.folder / "workers").glob("*.json")):
            shutil.rmtree(self.folder, ignore_errors=True)


class LeaseFolder:
    """The side of the run, see `Workers`: opens leases, commits shards, takes leases back."""

    plays_here = True
    """The process of the run plays too."""

    def __init__(self, folder: Path, in_flight: int, silence: float = WorkersConfig.lease_timeout) -> None:
        """Begin without workers.

        Args:
            folder: folder of the run.
            in_flight: games that a worker plays at the same time.
            silence: seconds without a heartbeat after which a lease is taken back.
        """
        self.folder, self.silence, self._in_flight = folder / FOLDER, silence, in_flight
        self.heartbeats: dict[str, Heartbeat] = {}
        """Last heartbeat of each worker that is alive."""
        self._changed: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._looked = 0.0

    def begin(self, ledger: Ledger, setup_of: Callable[[int], WorkerSetup]) -> list[str]:
        """See `Workers`; what is left of earlier leases is removed, but their games are welcome."""
        self.end()
        return self.exchange(ledger)

    def exchange(self, ledger: Ledger) -> list[str]:
        """See `Workers`.

        Raises:
            WriteError: the folder cannot be written.
        """
        if not self.folder.is_dir():
            for name in list(ledger.leases):  # somebody has removed it with the leases of workers
                ledger.take_back(name)
            self.heartbeats.clear()
            self._changed.clear()
            return []
        now = time.monotonic()
        warnings = self._look_for_workers(now)
        held = self._by_lease("held")
        warnings += self._commit(ledger)
        opened = self._by_lease("open")
        for name in ledger.leases:
            holder = held.get(name, "")
            if name in opened:
                self._seen[name] = now
            elif holder in self.heartbeats:
                self._seen[name] = self._changed[holder]
            elif now - self._seen.setdefault(name, now) > self.silence:
                warnings.append(
                    f"lease {name}: no heartbeat from {holder or 'its worker'} for {self.silence:g} s; "
                    "its games are played again"
                )
                self._remove(name, holder)
                ledger.take_back(name)
        if ledger.idle or not self.heartbeats:
            for name in opened:
                if self._withdrawn(name):
                    ledger.withdraw(name)
        else:
            self._open(ledger, len(opened), len(held))
        return warnings

    def end(self) -> None:
        """Remove the leases that are left of a generation that is closed."""
        self._seen = {}
        for part in ("open", "held"):
            for path in (self.folder / part).glob("*.json"):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Remove the folder if no worker is alive."""
        self._look_for_workers(time.monotonic(), every=0.0)
        if not self.heartbeats:
            shutil.rmtree(self.folder, ignore_errors=True)

    # --- one exchange ---------------------------------------------------------------------------------

    def _look_for_workers(self, now: float, every: float = HEARTBEAT_SECONDS / 2) -> list[str]:
        """Read the heartbeats; return a warning for each worker that fell silent."""
        if now - self._looked < every:
            return []
        self._looked = now
        there, warnings = {}, []
        for path in (self.folder / "workers").glob("*.json"):
            with suppress(OSError, ValueError, TypeError):
                there[path.stem] = Heartbeat(**json.loads(path.read_text(encoding="utf-8")))
        for name, heartbeat in there.items():
            before = self.heartbeats.get(name)
            if name not in self._changed or (before is not None and before.count != heartbeat.count):
                self._changed[name] = now
            self.heartbeats[name] = heartbeat
        for name in list(self.heartbeats):
            if name not in there:
                del self.heartbeats[name]
                self._changed.pop(name, None)
            elif now - self._changed[name] > self.silence:
                warnings.append(f"worker {name}: no heartbeat for {self.silence:g} s")
                (self.folder / "workers" / f"{name}.json").unlink(missing_ok=True)
                del self.heartbeats[name], self._changed[name]
        return warnings

    def _by_lease(self, part: str) -> dict[str, str]:
        """Return the leases of a part of the folder, with their holders."""
        stems = (path.stem.partition("@") for path in (self.folder / part).glob("*.json"))
        return {name: holder for name, _, holder in stems}

    def _commit(self, ledger: Ledger) -> list[str]:
        warnings = []
        for path in sorted((self.folder / "shards").glob("*.parquet")):
            name, _, holder = path.stem.partition("@")
            try:
                ledger.commit(path.read_bytes())
            except ShardError as error:
                if name in ledger.leases:
                    warnings.append(f"{path.name}: refused: {error}; its games are played again")
                    ledger.take_back(name)
            path.unlink(missing_ok=True)
            self._remove(name, holder)
        return warnings

    def _open(self, ledger: Ledger, opened: int, held: int) -> None:
        """Keep as many leases open as the workers can take besides those that they hold."""
        workers = len(self.heartbeats)
        for _ in range(max(0, min(workers, LEASES * workers - held) - opened)):
            lease = ledger.lease(lease_size(ledger.waiting, workers + 1, self._in_flight))
            if lease is None:
                return
            write_whole(self.folder / "open" / f"{lease.name}.json", lease.to_json() + "\n")

    def _withdrawn(self, name: str) -> bool:
        """Remove an open lease; return False if a worker took it just now."""
        try:
            (self.folder / "open" / f"{name}.json").unlink()
        except FileNotFoundError:
            return False
        return True

    def _remove(self, name: str, holder: str) -> None:
        """Remove what is left of a lease that is over."""
        self._seen.pop(name, None)
        if holder:
            (self.folder / "held" / f"{name}@{holder}.json").unlink(missing_ok=True)
            remove_temporaries(self.folder / "shards", of=f"{name}@{holder}.parquet")
