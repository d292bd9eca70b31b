"""What each generation of a run plays: its games, network, past networks and starting positions."""

from collections.abc import Sequence
from pathlib import Path

from ckai.rl.games.rng import seed_stream
from ckai.rl.leases.lease import Lease, hash_of
from ckai.rl.leases.worker import WorkerSetup
from ckai.rl.loop.config import MAX_GAMES
from ckai.rl.loop.folder import RunFolder
from ckai.rl.selfplay.pool import draw_opponents, player_name, trained_in


class RunPlan(RunFolder):
    """The files of a run, and what its generations play; the same in every process that sees them."""

    @property
    def _lag(self) -> int:
        """A generation n is played by the network of generation n - lag."""
        return 2 if self.config.overlap else 1

    def _finished_before(self, n: int) -> int:
        """Return the last generation that is finished when generation `n` is played."""
        return max(0, n - self._lag)

    def has_players(self, n: int) -> bool:
        """Return whether this process sees all that decides which networks play generation `n`."""
        return self.generations >= self._finished_before(n)

    def _player(self, n: int) -> int:
        """Return the generation that trained the network which plays generation `n`; 0: the first one."""
        return trained_in(self.history(), self._finished_before(n))

    def _numbers(self, n: int) -> range:
        return range(n * MAX_GAMES, n * MAX_GAMES + self.config.games)

    def _start_seed(self, n: int) -> int:
        return seed_stream(self.config.seed, n, 3)

    def _pool_seed(self, n: int) -> int:
        return seed_stream(self.config.seed, n, 4)

    def _network_of(self, n: int) -> Path:
        """Return the checkpoint of the network that plays generation `n`."""
        return self.path(self._finished_before(n), "network.ckpt")

    def _opponents(self, n: int) -> list[int]:
        """Return the past networks, by generation, that generation `n` plays against."""
        history = self.history()[: self._finished_before(n)]
        return draw_opponents(self.config.pool, history, self._pool_seed(n), self._lag)

    def worker_setup(self, n: int) -> WorkerSetup:
        """Return what another process needs to play games of generation `n`."""
        config = self.config
        return WorkerSetup(
            game=config.game,
            selfplay=config.selfplay,
            pool=config.pool,
            start=config.start,
            network=self._network_of(n).read_bytes(),
            name=player_name(self._player(n)),
            opponents=tuple((g, self.path(g, "network.ckpt").read_bytes()) for g in self._opponents(n)),
            start_seed=self._start_seed(n),
            pool_seed=self._pool_seed(n),
            experts=tuple(self.expert_positions()),
        )

    def _games(self, n: int, numbers: Sequence[int]) -> Lease:
        """Return games of generation `n` as one lease without a name."""
        return Lease(
            name="",
            run=self.folder.name,
            generation=n,
            numbers=tuple(numbers),
            seed=seed_stream(self.config.seed, n),
            network=hash_of(self._network_of(n).read_bytes()),
        )
