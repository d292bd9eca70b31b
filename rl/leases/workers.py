"""`Workers`: other processes that play leases of a run, however leases and shards get there and back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ckai.rl.leases.ledger import Ledger
from ckai.rl.leases.worker import WorkerSetup

HEARTBEAT_SECONDS = 2.0
"""Time between two heartbeats of a worker."""


@dataclass
class Heartbeat:
    """What a worker sends to show that it is alive."""

    count: int = 0
    """Count that grows with every heartbeat."""
    games: int = 0
    """Games finished since it began."""
    evaluations_per_second: float = 0.0
    """Network evaluations/s since the heartbeat before."""
    threads: int = 1
    evaluator: str = ""


class Workers(Protocol):
    """The workers of a run, seen from its process; used by one thread at a time."""

    plays_here: bool
    """Whether the process of the run plays too."""
    heartbeats: dict[str, Heartbeat]
    """Last heartbeat of each worker that is alive, by its name."""

    def begin(self, ledger: Ledger, setup_of: Callable[[int], WorkerSetup]) -> list[str]:
        """Begin a generation, or continue it.

        Args:
            ledger: its games.
            setup_of: returns what workers need to play the games of a generation.

        Returns:
            Warnings, each one line.
        """

    def exchange(self, ledger: Ledger) -> list[str]:
        """Commit what came, take back what is lost, and hand out leases; called several times a second.

        Returns:
            Warnings, each one line.
        """

    def end(self) -> None:
        """End a generation that is closed."""

    def close(self) -> None:
        """End the work for the run."""


def workers_info(workers: Workers, ledger: Ledger, seconds: float) -> dict[str, Any]:
    """Return what an event of self-play says of workers; empty without any.

    Args:
        workers: the workers.
        ledger: of the generation.
        seconds: time since the ledger was made.

    Returns:
        Under `workers`: `alive`, with `games`, `games_per_minute` and `evaluations_per_second` by name;
        leases `out` and `taken_back`; shards `refused`; bytes `moved`.
    """
    if not workers.heartbeats:
        return {}
    counts, alive = ledger.counts, {}
    for name, heartbeat in list(workers.heartbeats.items()):
        games = counts.by_worker.get(name, 0)
        alive[name] = {
            "games": games,
            "games_per_minute": 60 * games / max(1e-3, seconds),
            "evaluations_per_second": heartbeat.evaluations_per_second,
        }
    about = {"taken_back": counts.taken_back, "refused": counts.refused, "moved": counts.moved}
    return {"workers": {"alive": alive, "out": len(ledger.leases), **about}}
