"""What the tables share: the loop and its threads, the one search, the players, the writing of files."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.web.players import PlayerCatalog
from ckai.cli.web.searches import Job, SearchScheduler
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl.engine.base import AnyEngine

SLOW_SECONDS = 0.25
"""Time after which the page says what takes so long."""


class Services(ABC):
    """What the tables of a server share; made in its event loop.

    Args:
        players: who can play and analyse.
        games: the games on the page, by name.
        experts: the data set in which moves are counted, if any.
        folder: where runs are looked for.

    Attributes:
        players_ready: set once the players are known.
        status: what is going on, in words; empty if nothing is.
        searches: the one search that runs, and those that wait.
        on_end: what the end of a job leads to, in the loop.
    """

    def __init__(
        self, players: PlayerCatalog, games: dict[str, GameSpec], experts: ExpertMoves | None, folder: Path
    ) -> None:
        self.players, self.games, self.experts, self.folder = players, games, experts, folder
        self.on_end: dict[Job, Callable[[], None]] = {}
        self.players_ready = asyncio.Event()
        self.status = "looking for networks ..."
        self.searches = SearchScheduler(lambda job: self.call_soon_threadsafe(self._ended, job))
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1, "ckai-board-files")
        self._warm = {name: asyncio.Event() for name in games}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._pending_status: dict[object, tuple[asyncio.TimerHandle, str]] = {}

    # --- threads and time ---------------------------------------------------------------------------

    def now(self) -> float:
        """Return the time of the loop in seconds."""
        return self._loop.time()

    def call_later(self, seconds: float, work: Callable[[], None]) -> asyncio.TimerHandle:
        """Call a function of the loop later."""
        return self._loop.call_later(seconds, work)

    def call_soon_threadsafe(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in the loop, from any thread."""
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(work, *arguments)

    def write(self, work: Callable[[], None]) -> None:
        """Write a file in the thread for files, in order."""
        self._writer.submit(work)

    def create_task(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run a coroutine beside the others."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def submit(self, job: Job, on_end: Callable[[], None]) -> None:
        """Search once the players are loaded: before, a search would do without a network.

        Args:
            job: the search.
            on_end: what its end leads to, in the loop.
        """
        self.load()
        self.on_end[job] = on_end
        self.searches.submit(job)

    def _ended(self, job: Job) -> None:
        ended = self.on_end.pop(job, None)
        if ended is not None:
            ended()

    def end_tasks(self) -> None:
        """Cancel what was spawned."""
        for task in list(self._tasks):
            task.cancel()

    def end_threads(self) -> None:
        """End all searches, and wait until all files are written."""
        self.searches.close()
        self._writer.shutdown()

    # --- the rules of the games ---------------------------------------------------------------------

    def warm_up(self) -> None:
        """Compile the rules of the games in a thread, those of the default game first.

        The end of the server does not wait for it.
        """
        threading.Thread(target=self._warm_up, name="ckai-board-rules", daemon=True).start()

    def _warm_up(self) -> None:
        for spec in sorted(self.games.values(), key=lambda spec: spec != DEFAULT_GAME):
            try:
                for move in spec.position().legal_moves()[:1]:
                    spec.game().push(move)
                spec.game().outcome()
            finally:
                self.call_soon_threadsafe(self._warm[spec.name].set)

    async def warm(self, spec: GameSpec) -> None:
        """Wait until the rules of a game are compiled."""
        await self._warm[spec.name].wait()

    @abstractmethod
    def load(self) -> None:
        """Begin to load the players before all searches that are submitted later; once is enough."""

    # --- what takes long ----------------------------------------------------------------------------

    @abstractmethod
    def broadcast_status(self, text: str) -> None:
        """Tell all tabs what is going on; empty: nothing is."""

    def load_analyst(self, name: str | None, spec: GameSpec) -> tuple[str, "AnyEngine"]:
        """In a thread: return the network of that name, see `PlayerCatalog.network`, and its analyst.

        Raises:
            ActionError: there is no such network.
            ValueError, OSError: it cannot be loaded.
        """
        source = self.players.network(name, spec)
        with self.status_if_slow(f"loading {source} ..."):
            return source, self.players.analyst(source, spec)

    @contextmanager
    def status_if_slow(self, text: str) -> Iterator[None]:
        """In a thread: tell people what takes so long, if it does."""
        token = object()
        self.call_soon_threadsafe(self._show_if_slow, token, text)
        try:
            yield
        finally:
            self.call_soon_threadsafe(self._end_notice, token)

    def _show_if_slow(self, token: object, text: str) -> None:
        self._pending_status[token] = self.call_later(SLOW_SECONDS, lambda: self.broadcast_status(text)), text

    def _end_notice(self, token: object) -> None:
        timer, text = self._pending_status.pop(token)
        timer.cancel()
        if self.status == text:
            self.broadcast_status("")
