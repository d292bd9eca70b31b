"""Plays leases: what a process does that plays games for a run."""

import tempfile
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from pathlib import Path

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.games.spec import GameSpec
from ckai.rl.leases.lease import Lease, ShardInfo, hash_of, pack_shard
from ckai.rl.selfplay.config import PoolConfig, SelfPlayConfig, StartConfig
from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.numbers import Numbers
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.rows import FinishedGame
from ckai.rl.selfplay.starts import Starts
from ckai.rl.selfplay.warmup import compile_selfplay
from ckai.rl.selfplay.workers import play_games

IDLE_SECONDS = 0.05
"""Time for which a group without games waits before it asks again."""
LEASES = 2
"""Leases that a worker holds at once: the boards that the first one frees are for the second."""


class WorkerError(RuntimeError):
    """A worker cannot play a lease; one line that says what was expected and found."""


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker needs to play the leases of a generation, as plain data."""

    game: str
    selfplay: SelfPlayConfig
    pool: PoolConfig
    start: StartConfig
    network: bytes
    """Checkpoint of the network that plays."""
    name: str
    """Its name in PDN."""
    opponents: tuple[tuple[int, bytes], ...]
    """Generation and checkpoint of each past network in the pool."""
    start_seed: int
    pool_seed: int


class LeaseWorker:
    """Plays leases; one that comes while others of its generation are played shares their batches."""

    def __init__(
        self,
        name: str,
        setup_of: Callable[[Lease], WorkerSetup],
        *,
        backend: str = "auto",
        threads: int = 1,
    ) -> None:
        """Begin without a network; the first lease loads one.

        Args:
            name: name of this process among the workers of the run.
            setup_of: returns what is needed to play a lease; called once a generation.
            backend: evaluator backend, see `load_evaluator`.
            threads: number of threads that play.
        """
        self.name, self.progress = name, SelfPlayCounts()
        self._setup_of, self._backend, self._threads = setup_of, backend, threads
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._session: _Session | None = None
        self._players: _Players | None = None

    @property
    def evaluator(self) -> str:
        """Name of the backend that plays; empty before the first lease."""
        players = self._players
        return "" if players is None else players.network.name

    def play(self, lease: Lease) -> bytes:
        """Play the games of a lease and return them as a shard; may be called by `LEASES` threads at once.

        Raises:
            WorkerError: the network cannot be loaded or is not the lease's, or the worker is stopped.
            Exception: whatever the evaluator raised.
        """
        while True:
            with self._lock:
                if self._stop.is_set():
                    raise WorkerError(f"{self.name}: stopped")
                session = self._session
                if session is None or session.closed:
                    session = self._session = self._begin(lease)
                played = session.add(lease)
            if played is not None:
                games, evaluations = played.result()
                info = ShardInfo(lease.name, lease.generation, session.network, self.name, evaluations)
                return pack_shard(games, info)
            session.ended.wait()  # of another generation

    def close(self) -> None:
        """Stop playing; games in progress are dropped, and `play` raises."""
        self._stop.set()
        with self._lock:
            session = self._session
        if session is not None:
            session.ended.wait()
        with self._lock:
            if self._players is not None:
                self._players.close()
                self._players = None

    def _begin(self, lease: Lease) -> "_Session":
        """Start a session with the network of a lease, which is loaded if it is another than before."""
        if self._players is None or self._players.key != (lease.generation, lease.network):
            if self._players is not None:
                self._players.close()
                self._players = None
            self._players = self._load(lease)
        players = self._players
        in_flight = min(players.setup.selfplay.in_flight, LEASES * len(lease.numbers))
        config = replace(players.setup.selfplay, in_flight=in_flight, groups=self._threads)
        session = _Session(lease, config, self.progress)
        threading.Thread(
            target=session.run, args=(players, self._stop), name=f"leases of {lease.generation}", daemon=True
        ).start()
        return session

    def _load(self, lease: Lease) -> "_Players":
        setup = self._setup_of(lease)
        found = hash_of(setup.network)
        if found != lease.network:
            raise WorkerError(
                f"{self.name}: expected network {lease.network} for generation {lease.generation}, found "
                f"{found}; check that the folder is the run's own"
            )
        with tempfile.TemporaryDirectory(prefix="ckai-") as folder:

            def load(checkpoint: bytes) -> Evaluator:
                path = Path(folder, "network.ckpt")
                path.write_bytes(checkpoint)
                return load_evaluator(path, self._backend, threads=self._threads, game=setup.game)

            network = load(setup.network)
            past = [load(checkpoint) for _, checkpoint in setup.opponents]
        spec = get_game(setup.game)
        # Before the clock of the first lease.
        compile_selfplay(spec, network)
        generations = [generation for generation, _ in setup.opponents]
        pool = Pool(setup.pool, setup.pool_seed, generations, past)
        starts = Starts(setup.start, setup.start_seed, spec)
        return _Players((lease.generation, lease.network), setup, spec, network, pool, starts)


@dataclass(frozen=True)
class _Players:
    """The networks of a generation, loaded."""

    key: tuple[int, str]
    """Generation, and hash of the network."""
    setup: WorkerSetup
    spec: GameSpec
    network: Evaluator
    pool: Pool
    starts: Starts

    def close(self) -> None:
        for evaluator in (self.network, *self.pool.evaluators):
            evaluator.close()


_Played = tuple[list[FinishedGame], int]
"""Games of a lease, evaluations."""


class _Session(Numbers):
    """Leases of one generation that are played together, from the first to the last that is held."""

    def __init__(self, first: Lease, config: SelfPlayConfig, progress: SelfPlayCounts) -> None:
        self.generation, self.network, self.seed = first.generation, first.network, first.seed
        self.closed, self.ended = False, threading.Event()
        self._config, self._progress = config, progress
        self._counted = progress.evaluations
        self._lock = threading.Lock()
        self._waiting = deque[int]()
        self._held: dict[str, tuple[Lease, Future[_Played], list[FinishedGame]]] = {}

    def add(self, lease: Lease) -> "Future[_Played] | None":
        """Play a lease with the others; None if this session is of another network, or over."""
        with self._lock:
            if self.closed or (lease.generation, lease.network) != (self.generation, self.network):
                return None
            played: Future[_Played] = Future()
            self._held[lease.name] = (lease, played, [])
            self._waiting.extend(lease.numbers)
            return played

    def run(self, players: _Players, stop: threading.Event) -> None:
        """Play until no lease is held."""
        error: BaseException = WorkerError("stopped")
        try:
            play_games(
                players.network,
                self._config,
                self,
                seed=self.seed,
                spec=players.spec,
                on_game=self._finish,
                pool=players.pool,
                starts=players.starts,
                progress=self._progress,
                stop=stop,
                name=players.setup.name,
            )
        except BaseException as raised:
            error = raised
        with self._lock:
            self.closed = True
            for _, played, _ in self._held.values():
                played.set_exception(error)
        self.ended.set()

    def count(self, group: int) -> int:
        """See `Numbers`."""
        return self._config.group_size

    def take(self, group: int) -> int | None:
        """See `Numbers`."""
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    def wait(self, stop: threading.Event) -> bool:
        """See `Numbers`; ends the session where no lease is held."""
        with self._lock:
            if not self._held:
                self.closed = True
            if self.closed:
                return False
        stop.wait(IDLE_SECONDS)
        return True

    def _finish(self, game: FinishedGame) -> None:
        """Add a game to its lease, and hand the lease in if it is the last; one call at a time."""
        with self._lock:
            # Two leases have the same game where the run took one of them back and leased it here again.
            name = next(
                name
                for name, (lease, _, games) in self._held.items()
                if game.number in lease.numbers and all(other.number != game.number for other in games)
            )
            lease, played, games = self._held[name]
            games.append(game)
            if len(games) < len(lease.numbers):
                return
            del self._held[name]
        evaluations = self._progress.evaluations - self._counted
        self._counted += evaluations
        played.set_result((games, evaluations))
