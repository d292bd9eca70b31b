"""`Workers`: other processes that play leases of a run, however leases and shards get there and back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ckai.rl.leases.ledgers import Ledgers
from ckai.rl.leases.matches import LeasedMatches
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
    matches: LeasedMatches | None
    """Where gate matches are leased; None: they are played in the process of the run."""

    def begin(self, ledgers: Ledgers, setup_of: Callable[[int], WorkerSetup]) -> list[str]:
        """Begin a generation, or go on with it; leases that are out are adopted.

        Args:
            ledgers: its games, and late ones of earlier generations.
            setup_of: returns what workers need to play the games of a generation.

        Returns:
            Warnings, each one line.
        """

    def exchange(self, ledgers: Ledgers) -> list[str]:
        """Commit what came, take back what is lost, and hand out leases; called several times a second.

        Args:
            ledgers: as for `begin`.

        Returns:
            Warnings, each one line.
        """

    def end(self, ledgers: Ledgers) -> None:
        """End a generation that is closed; leases of its late games stay out.

        Args:
            ledgers: as for `begin`.
        """

    def close(self) -> None:
        """End the work for the run."""


def workers_info(workers: Workers, ledgers: Ledgers, seconds: float) -> dict[str, Any]:
    """Return what an event of self-play says of workers; empty without any.

    Args:
        workers: the workers.
        ledgers: of the generation.
        seconds: time since the ledgers were made.

    Returns:
        Under `workers`: `alive`, with `games`, `games_per_minute` and `evaluations_per_second` by name;
        leases `out` and `taken_back`; shards `refused`; bytes `moved`; late games of earlier generations that
        are still out (`late`).
    """
    if not workers.heartbeats:
        return {}
    counts, alive = ledgers.counts, {}
    for name, heartbeat in list(workers.heartbeats.items()):
        games = counts.by_worker.get(name, 0)
        since = games - ledgers.before.get(name, 0)
        alive[name] = {
            "games": games,
            "games_per_minute": 60 * since / max(1e-3, seconds),
            "evaluations_per_second": heartbeat.evaluations_per_second,
        }
    about = {"taken_back": counts.taken_back, "refused": counts.refused, "moved": counts.moved}
    about["late"] = sum(ledger.missing for ledger in ledgers.carried)
    return {"workers": {"alive": alive, "out": len(ledgers.leases), **about}}
