"""The games of a generation in the process of the run: which wait, which are leased, which have come."""

import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ckai.rl.leases.lease import Lease, unpack_shard
from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.numbers import Numbers
from ckai.rl.selfplay.rows import FinishedGame
from ckai.rl.selfplay.shards import ShardError, ShardWriter

IDLE_SECONDS = 0.1
"""Time for which a group without games waits before it asks again."""


@dataclass
class LeaseCounts:
    """What other processes have done for a generation; may be read at any time."""

    leased: int = 0
    """Leases that were given."""
    games: int = 0
    """Games that came from them, each counted once."""
    taken_back: int = 0
    """Leases whose holder sent no heartbeat, or failed."""
    refused: int = 0
    """Shards that were damaged, of another generation, or played by another network."""
    repeated: int = 0
    """Games received although the run had them already."""
    moved: int = 0
    """Bytes of shards."""
    by_worker: dict[str, int] = field(default_factory=dict)
    """Games by the name of the worker."""


class Ledger(Numbers):
    """The missing games of a generation: played by threads of this process, leased, and committed.

    Threads take games one by one from the front, leases take them from the back. While nothing is leased,
    each group plays the games that it has in `FixedNumbers`. May be called by several threads.
    """

    def __init__(
        self,
        missing: Lease,
        numbers: Sequence[int],
        writer: ShardWriter,
        progress: SelfPlayCounts,
        schema: Any,
        *,
        groups: int,
    ) -> None:
        """Begin with every missing game waiting.

        Args:
            missing: the games, as one lease from which the others are cut.
            numbers: all games of the generation.
            writer: where games are committed; drops those that are not missing.
            progress: counts to increase by what comes from other processes.
            schema: columns of the rows, a `pyarrow.Schema`.
            groups: number of groups that play in this process.
        """
        self.counts, self.writer, self.generation = LeaseCounts(), writer, missing.generation
        self._all, self._numbers, self._progress, self._schema = missing, numbers, progress, schema
        self._lock = threading.RLock()
        self._waiting, self._missing = set(missing.numbers), set(missing.numbers)
        self._front = [deque(missing.numbers[group::groups]) for group in range(groups)]
        self._back, self._returned = deque(missing.numbers), deque[int]()
        self._leases: dict[str, Lease] = {}
        self._idle = False

    @property
    def missing(self) -> int:
        """Number of games that are not in the run yet."""
        return len(self._missing)

    @property
    def waiting(self) -> int:
        """Number of games that nobody has begun or leased."""
        return len(self._waiting)

    @property
    def idle(self) -> bool:
        """Whether a group of this process has nothing to play while games are leased."""
        return self._idle and bool(self._missing)

    @property
    def leases(self) -> dict[str, Lease]:
        """The leases that are out, by name."""
        with self._lock:
            return dict(self._leases)

    # --- games of this process ------------------------------------------------------------------------

    def count(self, group: int) -> int:
        """See `Numbers`."""
        return len(self._front[group]) + len(self._returned)

    def take(self, group: int) -> int | None:
        """See `Numbers`."""
        with self._lock:
            number = self._next(self._front[group].popleft, self._front[group])
            if number is None:
                number = self._next(self._returned.popleft, self._returned)
            self._idle = self._idle and number is None
            return number

    def wait(self, stop: threading.Event) -> bool:
        """See `Numbers`; games that are leased may come back."""
        with self._lock:
            if not self._missing or not (self._waiting or self._leases):
                return False
            self._idle = not self._waiting
        stop.wait(IDLE_SECONDS)
        return True

    def _next(self, pop: Callable[[], int], queue: deque[int]) -> int | None:
        """Take the next number of a queue that still waits; one that was leased may be in it twice."""
        while queue:
            number = pop()
            if number in self._waiting:
                self._waiting.remove(number)
                return number
        return None

    def add(self, game: FinishedGame) -> None:
        """Commit a game that was played in this process."""
        if not self.writer.add(game):
            # `play_games` counts it again.
            self._progress.games -= 1
            self._progress.rows -= len(game.rows)
        with self._lock:
            self._missing.discard(game.number)

    # --- games of other processes ---------------------------------------------------------------------

    def lease(self, size: int) -> Lease | None:
        """Lease up to `size` waiting games; None if there are none."""
        with self._lock:
            numbers: list[int] = []
            while len(numbers) < size:
                number = self._next(self._back.pop, self._back)
                if number is None:
                    break
                numbers.append(number)
            if not numbers:
                return None
            name = f"{self.generation:04d}-{min(numbers):012d}-{secrets.token_hex(4)}"
            lease = replace(self._all, name=name, numbers=tuple(sorted(numbers)))
            self._leases[name] = lease
            self.counts.leased += 1
            return lease

    def withdraw(self, name: str) -> None:
        """Let the games of a lease wait again; does nothing if it is not out."""
        with self._lock:
            lease = self._leases.pop(name, None)
            if lease is not None:
                self._let_wait(number for number in lease.numbers if number in self._missing)

    def take_back(self, name: str) -> None:
        """Withdraw a lease whose holder failed, and count that."""
        with self._lock:
            self.counts.taken_back += name in self._leases
            self.withdraw(name)

    def _let_wait(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._waiting.add(number)
            self._back.append(number)
            self._returned.append(number)

    def commit(self, data: bytes) -> None:
        """Commit the new games of a shard, whether or not its lease is out.

        Args:
            data: the output of `pack_shard`.

        Raises:
            ShardError: it is not a whole shard of this generation, its network and its numbers; counted as
                refused.
            WriteError: the games cannot be written; nothing has changed.
        """
        counts = self.counts
        try:
            shard = unpack_shard(data, self._schema)
            info = shard.info
            if (info.generation, info.network) != (self.generation, self._all.network):
                raise ShardError(
                    f"expected games of generation {self.generation} by network {self._all.network}, found "
                    f"generation {info.generation} by {info.network}"
                )
            wrong = [number for number in shard.numbers if number not in self._numbers]
            if wrong:
                first, last = self._numbers[0], self._numbers[-1]
                raise ShardError(f"expected games {first} to {last}, found {wrong[0]}")
        except ShardError:
            counts.refused += 1
            raise
        new = self.writer.add_table(shard.table)
        numbers = set(shard.numbers)
        with self._lock:
            games = len(self._missing & numbers)
            self._waiting -= numbers
            self._missing -= numbers
            lease = self._leases.pop(info.lease, None)
            if lease is not None:
                self._let_wait(number for number in lease.numbers if number in self._missing)
            counts.games += games
            counts.repeated += len(numbers) - games
            counts.moved += len(data)
            counts.by_worker[info.worker] = counts.by_worker.get(info.worker, 0) + games
            self._progress.games += games
            self._progress.rows += new.num_rows
            self._progress.evaluations += info.evaluations


def lease_size(waiting: int, workers: int, in_flight: int) -> int:
    """Return how many games to lease at once.

    A worker holds two leases, so that its boards stay full. The last leases of a generation are smaller, so
    that all end at about the same time, but not so small that batches become so too.

    Args:
        waiting: games that nobody has begun.
        workers: processes that play, this one included if it does.
        in_flight: games that a worker plays at the same time.
    """
    least, most = -(-in_flight // 8), -(-in_flight // 2)
    return max(least, min(most, -(-waiting // max(1, workers))))
