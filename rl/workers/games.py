"""The games of a generation in the process of the run: those that it has, and the next ones to begin here."""

import threading
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.numbers import Numbers
from ckai.rl.selfplay.rows import FinishedGame
from ckai.rl.selfplay.shards import ShardError, ShardWriter
from ckai.rl.workers.delivery import Delivery, ckai_version, unpack


@dataclass
class WorkerCounts:
    """What workers have done for a generation since this process began; may be read at any time."""

    games: int = 0
    """Games that came from them, each counted once."""
    repeated: int = 0
    """Games that came although the run had them."""
    refused: int = 0
    """Deliveries that were damaged, or of another version, generation or network."""
    moved: int = 0
    """Bytes of deliveries."""
    by_worker: dict[str, int] = field(default_factory=dict)
    """Games by the name of the worker."""
    evaluations: dict[str, int] = field(default_factory=dict)
    """Network evaluations by the name of the worker."""


class GenerationGames(Numbers):
    """Begins games of this process until these and the finished ones of all are enough; takes deliveries.

    So every game that was begun here is finished and counted, and without workers they are the numbers from
    the first on, each group those that it has in `FixedNumbers`. May be called by several threads.
    """

    def __init__(
        self,
        generation: int,
        numbers: Sequence[int],
        writer: ShardWriter,
        progress: SelfPlayCounts,
        schema: Any,
        *,
        have: Collection[int],
        networks: Mapping[int, str],
        before: Collection[int] = (),
        groups: int,
    ) -> None:
        """Begin with the games that are on disk.

        Args:
            generation: the generation.
            numbers: numbers of this process, as many as the generation needs games.
            writer: writes shards of games.
            progress: counts to increase by what workers deliver.
            schema: columns of the rows, a `pyarrow.Schema`.
            have: numbers of the games that are on disk.
            networks: hash of the network by the generation for which a game may have been begun.
            before: numbers of the games of earlier generations that may come again.
            groups: number of groups that play in this process.
        """
        self.generation, self.writer, self.counts = generation, writer, WorkerCounts()
        self._wanted, self._progress, self._schema = len(numbers), progress, schema
        self._have, self._networks, self._before = set(have), networks, frozenset(before)
        self._begun = 0
        missing = [number for number in numbers if number not in self._have]
        self._front = [deque(missing[group::groups]) for group in range(groups)]
        self._lock = threading.RLock()

    @property
    def have(self) -> int:
        """Number of games that the generation has."""
        return len(self._have)

    @property
    def enough(self) -> bool:
        """Whether the generation has its games."""
        return len(self._have) >= self._wanted

    def count(self, group: int) -> int:
        """See `Numbers`."""
        return len(self._front[group])

    def take(self, group: int) -> int | None:
        """See `Numbers`."""
        with self._lock:
            if len(self._have) + self._begun >= self._wanted or not self._front[group]:
                return None
            self._begun += 1
            return self._front[group].popleft()

    def add(self, game: FinishedGame) -> None:
        """Keep a game that was played in this process."""
        self.writer.add(game)
        with self._lock:
            self._have.add(game.number)
            self._begun -= 1

    def deliver(self, data: bytes) -> None:
        """Keep the new games of a delivery.

        Args:
            data: the output of `pack`.

        Raises:
            ShardError: it is damaged, or of another version, generation or network; counted as refused.
            WriteError: the games cannot be written; nothing has changed.
        """
        counts = self.counts
        try:
            delivery, table, numbers = unpack(data, self._schema)
            self._check(delivery)
        except ShardError:
            counts.refused += 1
            raise
        new = self.writer.add_table(table, drop=self._before)
        with self._lock:
            games = len(numbers - self._have - self._before)
            self._have |= numbers - self._before
            counts.games += games
            counts.repeated += len(numbers) - games
            counts.moved += len(data)
            for counted, more in ((counts.by_worker, games), (counts.evaluations, delivery.evaluations)):
                counted[delivery.worker] = counted.get(delivery.worker, 0) + more
            self._progress.games += games
            self._progress.rows += new.num_rows
            self._progress.evaluations += delivery.evaluations

    def _check(self, delivery: Delivery) -> None:
        if delivery.version != ckai_version():
            raise ShardError(f"expected ckai {ckai_version()}, found {delivery.version}")
        if self._networks.get(delivery.generation) != delivery.network:
            network = self._networks[self.generation]
            raise ShardError(
                f"expected games of generation {self.generation} by network {network}, found generation "
                f"{delivery.generation} by {delivery.network}"
            )
