"""Plays games for a run and delivers them: the run's own process, those that join it, and actors on Ray."""

import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ckai.models.inference.evaluator import Evaluator
from ckai.models.inference.threads import repeated
from ckai.rl.evaluators.loading import load_evaluator
from ckai.rl.games.registry import get_game
from ckai.rl.games.rng import seed_stream
from ckai.rl.run.config import RunConfig
from ckai.rl.selfplay.group import Player, SelfPlayCounts
from ckai.rl.selfplay.play import Numbers, play_games
from ckai.rl.selfplay.pool import Pool
from ckai.rl.selfplay.shards import Shard, ShardWriter, hash_of
from ckai.rl.selfplay.starts import Starts

TICK_SECONDS = 1.0
"""Time between two looks for a new network."""
SHARD_SECONDS = 4.0
"""Most time for which a finished game is not delivered."""


@dataclass(frozen=True)
class Networks:
    """The networks that play after a number of finished generations, as plain data."""

    network: int
    """Number of the newest one: the generation that trained it, 0 for the first one."""
    checkpoint: bytes
    opponents: tuple[tuple[int, bytes], ...] = ()
    """Number and checkpoint of each past network in the pool."""


class Worker:
    """Plays with the newest network of a run, from one network to the next without a break."""

    def __init__(
        self,
        name: str,
        config: RunConfig,
        latest: Callable[[], int | None],
        networks: Callable[[int], Networks],
        deliver: Callable[[str, bytes], None],
        *,
        backend: str = "auto",
        threads: int = 0,
        settings: str = "",
        on_load: Callable[[Evaluator], None] = lambda evaluator: None,
    ) -> None:
        """Begin without a network.

        Args:
            name: its name; with it and the seed of the run, numbers give games their random streams.
            config: settings of the run; `selfplay.in_flight` may differ from the run's own.
            latest: returns the number of finished generations, None if nobody knows it yet.
            networks: returns the networks that play after so many.
            deliver: takes the name and the bytes of each shard.
            backend: evaluator backend, see `load_evaluator`.
            threads: threads that play; 0: as in the settings.
            settings: hash of the settings of the run, see `RunConfig.hash`; empty: the hash of `config`.
            on_load: called with the first network that is loaded, before it plays.
        """
        self.name, self.progress = name, SelfPlayCounts()
        self.evaluator = ""
        """Name of the backend that plays; empty before the first game."""
        play = replace(config.selfplay, groups=threads or config.selfplay.groups)
        self._config, self._play, self._spec = config, play, get_game(config.game)
        self._latest, self._networks, self._backend, self._on_load = latest, networks, backend, on_load
        self._seed = seed_stream(config.seed, zlib.crc32(name.encode()))
        about = Shard(name, settings or config.hash())
        self._writer = ShardWriter(about, deliver)
        # More games of one network than the window has are of no use, once those in flight have ended.
        most = config.learn.window_of(1) * config.games + play.in_flight
        self._numbers, self._generations = Numbers.counting(play.group_count, most), -1
        self._player: Player | None = None
        self._may_play = threading.Event()
        self._may_play.set()
        self._flushed = 0.0

    def run(self, stop: threading.Event, numbers: Numbers | None = None) -> None:
        """Play until `stop` is set, which drops the games in progress.

        Args:
            stop: see there.
            numbers: games to play and then return, all with the networks of now; None: no end.
        """
        from ckai.rl.selfplay.warmup import compile_selfplay

        while (now := self._latest()) is None:
            if stop.wait(TICK_SECONDS / 4):
                return
        self._load(now)
        assert self._player is not None
        self._on_load(self._player.evaluator)
        compile_selfplay(self._spec, self._player.evaluator)
        self._writer.begin(self.progress.evaluations)

        def tick() -> None:
            now = self._latest()
            if numbers is None and now not in (None, self._generations):
                self._load(now)
                self._numbers.renew()
            if time.monotonic() - self._flushed >= SHARD_SECONDS:
                self._flush()

        try:
            with repeated(tick, TICK_SECONDS, stop):
                play_games(
                    self._current,
                    self._play,
                    numbers or self._numbers,
                    seed=self._seed,
                    on_game=self._writer.add,
                    spec=self._spec,
                    starts=Starts(self._config.start, seed_stream(self._seed, 3), self._spec),
                    progress=self.progress,
                    stop=stop,
                )
        finally:
            self._flush()
            self._player.close()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Evaluate no further batch during the block of the `with` statement."""
        self._may_play.clear()
        try:
            yield
        finally:
            self._may_play.set()

    def _current(self) -> Player:
        self._may_play.wait()
        assert self._player is not None
        return self._player

    def _flush(self) -> None:
        self._writer.flush(self.progress.evaluations)
        self._flushed = time.monotonic()

    def _load(self, generations: int) -> None:
        """Load the networks that play after so many generations."""
        found, loaded = self._networks(generations), list[Evaluator]()
        groups, game = self._play.group_count, self._config.game
        with tempfile.TemporaryDirectory(prefix="ckai-") as folder:
            path = Path(folder, "network.ckpt")
            for checkpoint in (found.checkpoint, *(past for _, past in found.opponents)):
                path.write_bytes(checkpoint)
                loaded.append(load_evaluator(path, self._backend, threads=groups, game=game))
        past = dict(zip((number for number, _ in found.opponents), loaded[1:], strict=True))
        self._writer.networks[found.network] = hash_of(found.checkpoint)
        self._generations, self.evaluator = generations, loaded[0].name
        pool = Pool(self._config.pool, seed_stream(self._seed, 4), past) if past else None
        self._player = Player(loaded[0], found.network, pool)
