"""The server of the board: what its tabs share, and what is loaded when it begins."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.web.players import PlayerCatalog
from ckai.cli.web.searches import Job, Priority, SearchScheduler
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

if TYPE_CHECKING:
    from ckai.rl.engine.base import Engine

LOAD_WITHOUT_TAB_SECONDS = 3.0
"""Time after which the players are loaded, even if no tab has come."""
SLOW_SECONDS = 0.25
"""Time after which the page says what takes so long."""


class Server:
    """The loop and its threads, the one search, the players, the writing of files; made in its event loop.

    Attributes:
        players: who can play and analyse.
        games: the games on the page, by name.
        experts: the data set in which moves are counted, if any.
        folder: where runs are looked for.
        sessions: the `TabSession` of each table, by the table's key.
        players_ready: set once the players are known.
        status: what is going on, in words; empty if nothing is.
        searches: the one search that runs, and those that wait.
    """

    def __init__(
        self,
        players: PlayerCatalog,
        games: dict[str, GameSpec],
        *,
        experts: ExpertMoves | None = None,
        folder: Path = Path(),
    ) -> None:
        self.players, self.games, self.experts, self.folder = players, games, experts, folder
        self.sessions: dict[str, Any] = {}
        self.players_ready = asyncio.Event()
        self.status = "looking for networks ..."
        self.searches = SearchScheduler(lambda job: self.call_soon_threadsafe(job.on_end))
        self._loading = False
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1, "ckai-board-files")
        self._warm = {name: asyncio.Event() for name in games}
        self._tasks: set[asyncio.Task[Any]] = set()

    # --- beginning and ending -----------------------------------------------------------------------

    def open(self) -> None:
        """Begin to compile the rules of the games; the page is served meanwhile."""
        threading.Thread(target=self._warm_up, name="ckai-board-rules", daemon=True).start()
        self.call_later(LOAD_WITHOUT_TAB_SECONDS, self.load)

    def load(self) -> None:
        """Begin to load the players, unless that was done before.

        It waits for the first tab: while PyTorch is loaded, the server answers slowly.
        """
        if not self._loading:
            self._loading = True
            self.searches.submit(Job(Priority.MOVE, self._find))
            self.searches.submit(Job(Priority.QUESTION, self._load_first))

    def _find(self, job: Job) -> None:
        try:
            self.players.find()
        except Exception as error:
            self.call_soon_threadsafe(self.players_ready.set)  # people can play each other
            self.call_soon_threadsafe(self.broadcast_status, f"no players can be loaded: {error}")
            raise
        self.call_soon_threadsafe(self._found_players)

    def _found_players(self) -> None:
        self.players_ready.set()
        for session in self.sessions.values():
            session.push(
                {"type": "players", "players": self.players.offered, "networks": self.players.networks}
            )
            session.refresh()
        self.broadcast_status("loading the network ...")

    def _load_first(self, job: Job) -> None:
        """Load what the first analysis needs, so that it begins at once."""
        if not self.players.offered:
            return  # nothing was found, and the tabs are told why
        try:
            name = self.players.network(None, DEFAULT_GAME)
            self.players.engine(name, DEFAULT_GAME).get()
        except Exception as error:
            self.call_soon_threadsafe(self.broadcast_status, f"the network cannot be loaded: {error}")
            raise
        self.call_soon_threadsafe(self.broadcast_status, "")

    def broadcast_status(self, text: str) -> None:
        """Tell all tabs what is going on; empty: nothing is."""
        self.status = text
        for session in self.sessions.values():
            session.push({"type": "status", "text": text, "ready": not text})

    def close(self) -> None:
        """Save all games, end all searches, wait until files are written, and release what is loaded."""
        for task in list(self._tasks):
            task.cancel()
        for session in self.sessions.values():
            session.replace()
        self.searches.close()
        self._writer.shutdown()
        self.players.close()

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

    def submit(self, job: Job) -> None:
        """Search once the players are loaded: before, a search would do without a network."""
        self.load()
        self.searches.submit(job)

    # --- the rules of the games ---------------------------------------------------------------------

    def _warm_up(self) -> None:
        """Compile the rules of the games, those of the default game first; the end does not wait for it."""
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

    # --- what takes long ----------------------------------------------------------------------------

    def load_network(self, name: str | None, spec: GameSpec) -> tuple[str, "Engine"]:
        """In a thread: return the network of that name, see `PlayerCatalog.network`, and an engine with it.

        Raises:
            ActionError: there is no such network.
            ValueError, OSError: it cannot be loaded.
        """
        source = self.players.network(name, spec)
        with self.status_if_slow(f"loading {source} ..."):
            return source, self.players.engine(source, spec).get()

    @contextmanager
    def status_if_slow(self, text: str) -> Iterator[None]:
        """In a thread: tell people what takes so long, if it does."""
        timer = threading.Timer(SLOW_SECONDS, lambda: self.call_soon_threadsafe(self.broadcast_status, text))
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            self.call_soon_threadsafe(self._end_status, text)

    def _end_status(self, text: str) -> None:
        if self.status == text:
            self.broadcast_status("")
