"""`Workers`: other processes that play leases of a run, however leases and shards get there and back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ckai.rl.leases.ledger import Ledger
from ckai.rl.leases.worker import Orders


@dataclass
class Sign:
    """A sign of life of a worker."""

    beat: int = 0
    """Count that grows with every sign."""
    games: int = 0
    """Games finished since it began."""
    evaluations_per_second: float = 0.0
    """Network evaluations/s since the sign before."""
    threads: int = 1
    evaluator: str = ""


class Workers(Protocol):
    """The workers of a run, seen from its process; used by one thread at a time."""

    plays_here: bool
    """Whether the process of the run plays too."""
    signs: dict[str, Sign]
    """Last sign of each worker that is alive, by its name."""

    def begin(self, ledger: Ledger, orders: Callable[[], Orders]) -> list[str]:
        """Begin a generation.

        Args:
            ledger: its games.
            orders: returns what workers need to play it.

        Returns:
            Warnings, each one line.
        """

    def exchange(self, ledger: Ledger) -> list[str]:
        """Commit what came, take back what is lost, and hand out leases; called several times a second.

        Args:
            ledger: as for `begin`.

        Returns:
            Warnings, each one line.
        """

    def end(self) -> None:
        """End a generation that has all its games, or that is interrupted."""

    def close(self) -> None:
        """End the work for the run."""
