"""The room of the server: its tables, the one search that runs, and the writing of files."""

import asyncio
import secrets
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.web.desk import Desk
from ckai.cli.web.players import Players
from ckai.cli.web.searches import Job, Priority, Searches
from ckai.cli.web.table import Table, TableError
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

MOST_TABLES = 32
"""Most tables at once."""
IDLE_SECONDS = 12 * 3600.0
"""Time without a tab after which a table is cleared."""
CLEANING_SECONDS = 60.0
"""Interval at which tables are looked at."""
PATIENCE_SECONDS = 3.0
"""Time after which the players are loaded, even if no tab has come."""
SLOW_SECONDS = 0.25
"""Time after which people are told what takes so long."""


class Room:
    """The tables of a server.

    Args:
        players: who can play and analyse.
        games: the games on the page, by name.
        experts: the data set in which moves are counted, if any.
        folder: where runs are looked for.
    """

    def __init__(
        self,
        players: Players,
        games: dict[str, GameSpec],
        *,
        experts: ExpertMoves | None = None,
        folder: Path = Path(),
    ) -> None:
        self.players, self.games, self.experts, self.folder = players, games, experts, folder
        self.desks: dict[str, Desk] = {}
        self.on_end: dict[Job, asyncio.Future[None]] = {}
        """What waits for the end of jobs."""
        self.found = asyncio.Event()
        """Whether the players are known."""
        self.status = "looking for networks ..."
        """What is going on; empty if nothing is."""
        self.searches = Searches(lambda job: self.call(self._ended, job))
        self._loading = False
        self._loop = asyncio.get_running_loop()
        self._writer = ThreadPoolExecutor(1, "ckai-board-files")
        self._warm = {name: asyncio.Event() for name in games}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._slow: dict[object, tuple[asyncio.TimerHandle, str]] = {}

    # --- threads and time ---------------------------------------------------------------------------

    def now(self) -> float:
        """Return the time of the loop in seconds."""
        return self._loop.time()

    def later(self, seconds: float, work: Callable[[], None]) -> asyncio.TimerHandle:
        """Call a function of the loop later."""
        return self._loop.call_later(seconds, work)

    def call(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Call a function in the loop, from any thread."""
        with suppress(RuntimeError):  # the server has ended
            self._loop.call_soon_threadsafe(work, *arguments)

    def write(self, work: Callable[[], None]) -> None:
        """Write a file in the thread for files, in order."""
        self._writer.submit(work)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run a coroutine beside the others."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _ended(self, job: Job) -> None:
        ended = self.on_end.pop(job, None)
        if ended is not None and not ended.done():
            ended.set_result(None)

    # --- beginning and ending -----------------------------------------------------------------------

    def open(self) -> None:
        """Begin to compile the rules of the games; the page is served meanwhile."""
        for spec in sorted(self.games.values(), key=lambda spec: spec != DEFAULT_GAME):
            self.write(lambda spec=spec: self._warm_up(spec))  # type: ignore[misc]
        self.later(PATIENCE_SECONDS, self.load)
        self.spawn(self._clean())

    def load(self) -> None:
        """Begin to load the players, unless that was done before.

        It waits for the first tab: while PyTorch is loaded, the server answers slowly.
        """
        if not self._loading:
            self._loading = True
            self.searches.submit(Job(Priority.MOVE, self._find))
            self.searches.submit(Job(Priority.QUESTION, self._load_first))

    def _warm_up(self, spec: GameSpec) -> None:
        """Compile the rules of a game."""
        try:
            for move in spec.position().legal_moves()[:1]:
                spec.game().push(move)
            spec.game().outcome()
        finally:
            self.call(self._warm[spec.name].set)

    async def warm(self, spec: GameSpec) -> None:
        """Wait until the rules of a game are compiled."""
        await self._warm[spec.name].wait()

    def _find(self, job: Job) -> None:
        try:
            self.players.find()
        except Exception as error:
            self.call(self._tell, f"no players can be loaded: {error}")
            raise
        self.call(self._found_players)

    def _found_players(self) -> None:
        self.found.set()
        for desk in self.desks.values():
            desk.push({"type": "players", "players": self.players.offered, "networks": self.players.networks})
            desk.refresh()
        self._tell("loading the network ...")

    def _load_first(self, job: Job) -> None:
        """Load what the first analysis needs, so that it begins at once."""
        try:
            name = self.players.network(None, DEFAULT_GAME)
            analyst = self.players.analyst(name, DEFAULT_GAME)
            analyst.search(
                DEFAULT_GAME.game(), lines=1, visits=32, seconds=None, job=job, publish=lambda result: None
            )
        except Exception as error:
            self.call(self._tell, f"the network cannot be loaded: {error}")
            raise
        self.call(self._tell, "")

    def _tell(self, text: str) -> None:
        self.status = text
        for desk in self.desks.values():
            desk.push({"type": "status", "text": text, "ready": not text})

    @contextmanager
    def telling(self, text: str) -> Iterator[None]:
        """In a thread: tell people what takes so long, if it does."""
        token = object()
        self.call(self._tell_slowly, token, text)
        try:
            yield
        finally:
            self.call(self._told, token)

    def _tell_slowly(self, token: object, text: str) -> None:
        self._slow[token] = self.later(SLOW_SECONDS, lambda: self._tell(text)), text

    def _told(self, token: object) -> None:
        timer, text = self._slow.pop(token)
        timer.cancel()
        if self.status == text:
            self._tell("")

    async def _clean(self) -> None:
        while True:
            await asyncio.sleep(CLEANING_SECONDS)
            for desk in list(self.desks.values()):
                if desk.link is None and self.now() - desk.left_at > IDLE_SECONDS:
                    self._drop(desk)

    def _drop(self, desk: Desk) -> None:
        desk.replace()
        del self.desks[desk.table.key]

    def close(self) -> None:
        """Save all games, end all searches, and release what is loaded."""
        for task in list(self._tasks):
            task.cancel()
        for desk in self.desks.values():
            desk.replace()
        self.searches.close()
        self._writer.shutdown()
        self.players.close()

    # --- tables -------------------------------------------------------------------------------------

    def desk(self, key: str | None) -> tuple[Desk, bool]:
        """Return the desk with a key, or a new one; and whether it is new.

        Raises:
            TableError: there are too many.
        """
        if key is not None and key in self.desks:
            return self.desks[key], False
        if len(self.desks) >= MOST_TABLES:
            alone = [desk for desk in self.desks.values() if desk.link is None]
            if not alone:
                raise TableError(f"expected at most {MOST_TABLES} tabs, found as many; close one")
            self._drop(min(alone, key=lambda desk: desk.left_at))
        made = Desk(self, Table(secrets.token_urlsafe(16), DEFAULT_GAME))
        self.desks[made.table.key] = made
        return made, True
