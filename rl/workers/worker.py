"""Plays games for a run whose process is another one."""

import itertools
import random
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ckai.models.inference.evaluator import Evaluator
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.search.threads import repeated
from ckai.rl.selfplay.config import PoolConfig, SelfPlayConfig, StartConfig
from ckai.rl.selfplay.group import SelfPlayCounts
from ckai.rl.selfplay.numbers import Numbers
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.rows import FinishedGame
from ckai.rl.selfplay.starts import Starts
from ckai.rl.selfplay.warmup import compile_selfplay
from ckai.rl.selfplay.workers import play_games
from ckai.rl.workers.delivery import Delivery, ckai_version, hash_of, pack

TICK_SECONDS = 2.0
"""Time between two deliveries, and between two looks for the generation that is played."""


class WorkerError(RuntimeError):
    """A worker cannot play; one line that says what was expected and found."""


@dataclass(frozen=True)
class WorkerSetup:
    """What a worker needs to play games of a generation, as plain data."""

    generation: int
    seed: int
    """Of the generation; seed and number give a game its random stream."""
    numbers: range
    """Numbers for games of workers."""
    games: int
    """Games of the generation: more than these a worker does not play for it."""
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


class Worker:
    """Plays games of one generation after another."""

    def __init__(
        self,
        name: str,
        look: Callable[[], int | None],
        setup_of: Callable[[int], WorkerSetup],
        deliver: Callable[[bytes], None],
        *,
        backend: str = "auto",
        threads: int = 1,
    ) -> None:
        """Begin without a network.

        Args:
            name: name of this process among the workers of the run.
            look: returns the generation that is played now; None: none, or nobody knows.
            setup_of: returns what is needed to play for a generation.
            deliver: takes the output of `pack`.
            backend: evaluator backend, see `load_evaluator`.
            threads: number of threads that play.
        """
        self.name, self.progress = name, SelfPlayCounts()
        self.evaluator = ""
        """Name of the backend that plays; empty before the first game."""
        self._look, self._setup_of, self._deliver = look, setup_of, deliver
        self._backend, self._threads = backend, threads

    def run(self, stop: threading.Event) -> None:
        """Play until `stop` is set; games in progress are dropped then.

        Raises:
            Exception: whatever `setup_of`, the evaluator or `deliver` raised.
        """
        done = 0
        while not stop.is_set():
            generation = self._look()
            if generation is None or generation == done:
                stop.wait(TICK_SECONDS / 4)
                continue
            setup = self._setup_of(generation)
            self._play(setup, stop)
            done = setup.generation

    def _play(self, setup: WorkerSetup, stop: threading.Event) -> None:
        """Begin games until the generation has enough, and play those to their end."""
        waiting, lock = list[FinishedGame](), threading.Lock()
        numbers = _Counter(setup, self._threads)
        counted = self.progress.evaluations
        network = hash_of(setup.network)

        def tick() -> None:
            nonlocal counted
            if self._look() != setup.generation:
                numbers.over = True
            with lock:
                games = waiting[:]
                waiting.clear()
            if games:
                now = self.progress.evaluations
                delivery = Delivery(
                    self.name, ckai_version(), setup.generation, network, now - counted, self.evaluator
                )
                self._deliver(pack(games, delivery))
                counted = now

        def finish(game: FinishedGame) -> None:
            with lock:
                waiting.append(game)

        players = self._load(setup)
        self.evaluator, spec = players[0].name, get_game(setup.game)
        compile_selfplay(spec, players[0])
        try:
            with repeated(tick, TICK_SECONDS, stop):
                play_games(
                    players[0],
                    replace(setup.selfplay, groups=self._threads),
                    numbers,
                    seed=setup.seed,
                    spec=spec,
                    on_game=finish,
                    pool=Pool(setup.pool, setup.pool_seed, [g for g, _ in setup.opponents], players[1:]),
                    starts=Starts(setup.start, setup.start_seed, spec),
                    progress=self.progress,
                    stop=stop,
                    name=setup.name,
                )
        finally:
            tick()
            for evaluator in players:
                evaluator.close()

    def _load(self, setup: WorkerSetup) -> list[Evaluator]:
        """Load the network of a generation, and the past ones it meets."""
        with tempfile.TemporaryDirectory(prefix="ckai-") as folder:
            path, players = Path(folder, "network.ckpt"), list[Evaluator]()
            for checkpoint in (setup.network, *(checkpoint for _, checkpoint in setup.opponents)):
                path.write_bytes(checkpoint)
                players.append(load_evaluator(path, self._backend, threads=self._threads, game=setup.game))
        return players


class _Counter(Numbers):
    """Numbers of a worker's games: they count on from one drawn at random.

    Two workers that draw overlapping numbers play some games twice; the run drops what it has.
    """

    def __init__(self, setup: WorkerSetup, groups: int) -> None:
        self.over = False
        """Whether to begin no more games."""
        first = random.SystemRandom().randrange(len(setup.numbers))
        each = itertools.islice(itertools.count(first), min(setup.games, len(setup.numbers)))
        self._numbers: Iterator[int] = (setup.numbers[n % len(setup.numbers)] for n in each)
        self._most = -(-setup.games // groups)
        self._lock = threading.Lock()

    def count(self, group: int) -> int:
        """See `Numbers`."""
        return self._most

    def take(self, group: int) -> int | None:
        """See `Numbers`."""
        with self._lock:
            return None if self.over else next(self._numbers, None)
