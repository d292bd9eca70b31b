"""All games that a run misses at one time: of the generation that is played, and late ones of earlier ones.

A generation may be closed while its last games are still being played elsewhere. These are then missing in
the next one: their leases stay out, they are played by the network of their own generation, and they are
committed to the generation that is being played when they come.
"""

from collections.abc import Sequence
from typing import Any

from ckai.rl.leases.lease import Lease, unpack_shard
from ckai.rl.leases.ledger import LeaseCounts, Ledger
from ckai.rl.selfplay.shards import ShardError


class Ledgers:
    """The ledger of the generation that is played, and those of earlier generations with late games."""

    def __init__(self, own: Ledger, carried: Sequence[Ledger], schema: Any) -> None:
        """Begin open ledgers.

        Args:
            own: of the generation that is played.
            carried: of earlier generations, for their late games; with the `counts` of `own`.
            schema: columns of the rows, a `pyarrow.Schema`.
        """
        self.own, self.carried = own, tuple(sorted(carried, key=lambda ledger: ledger.generation))
        self.closed = False
        """Whether nothing more is waited for, see `close`."""
        self.before = dict(own.counts.by_worker)
        """Games by the name of the worker that came before."""
        self._schema = schema

    @property
    def counts(self) -> LeaseCounts:
        """What other processes have done."""
        return self.own.counts

    @property
    def generation(self) -> int:
        """The generation that is played."""
        return self.own.generation

    @property
    def generations(self) -> tuple[int, ...]:
        """Generations of the games, ascending."""
        return tuple(ledger.generation for ledger in self._all)

    @property
    def missing(self) -> int:
        """Number of games that are not in the run yet."""
        return sum(ledger.missing for ledger in self._all)

    @property
    def waiting(self) -> int:
        """Number of games that nobody has begun or leased."""
        return sum(ledger.waiting for ledger in self._all)

    @property
    def idle(self) -> bool:
        """Whether a group of this process has nothing to play while games of its generation are leased."""
        return self.own.idle

    @property
    def leases(self) -> dict[str, Lease]:
        """The leases that are out, by name."""
        return {name: lease for ledger in self._all for name, lease in ledger.leases.items()}

    @property
    def _all(self) -> tuple[Ledger, ...]:
        return (*self.carried, self.own)

    def lease(self, size: int) -> Lease | None:
        """Lease up to `size` waiting games of one generation, the earliest; None if there are none."""
        leases = (ledger.lease(size) for ledger in self._all)
        return next((lease for lease in leases if lease is not None), None)

    def adopt(self, lease: Lease) -> bool:
        """Adopt a lease that is out already, if its missing games all wait; return whether it was adopted."""
        return any(ledger.adopt(lease) for ledger in self._all)

    def withdraw(self, name: str) -> None:
        """Let the games of a lease wait again; does nothing if it is not out."""
        for ledger in self._all:
            ledger.withdraw(name)

    def take_back(self, name: str) -> None:
        """Withdraw a lease whose holder failed, and count that."""
        for ledger in self._all:
            ledger.take_back(name)

    def commit(self, data: bytes) -> None:
        """Commit the new games of a shard, whether or not its lease is out.

        Args:
            data: the output of `pack_shard`.

        Raises:
            ShardError: it is not a whole shard of one of the generations, its network and its numbers;
                counted as refused.
            WriteError: the games cannot be written; nothing has changed.
        """
        try:
            shard = unpack_shard(data, self._schema)
            found = shard.info.generation
            ledger = next((each for each in self._all if each.generation == found), None)
            if ledger is None:
                expected = " or ".join(map(str, self.generations))
                raise ShardError(f"expected games of generation {expected}, found {found}")
            ledger.commit(shard)
        except ShardError:
            self.counts.refused += 1
            raise

    def close(self, late: int) -> bool:
        """Close the ledgers if at most `late` games are missing and all of these are leased.

        Once it is closed, groups of this process wait no longer. Games that come are still committed.

        Args:
            late: most games that are not waited for; 0: all are.

        Returns:
            Whether it is closed, now or before.
        """
        missing = self.missing
        self.closed = self.closed or (
            missing <= late and all(ledger.missing == ledger.leased for ledger in self._all)
        )
        if self.closed:
            for ledger in self._all:
                ledger.close()
        return self.closed
