"""The server of the board: its sessions, and what is loaded when it begins."""

import asyncio
import secrets
from pathlib import Path

from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.web.players import PlayerCatalog
from ckai.cli.web.searches import Job, Priority
from ckai.cli.web.services import Services
from ckai.cli.web.tab_session import TabSession
from ckai.cli.web.table import ActionError, Table
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

MAX_TABLES = 32
"""Most tables at once."""
IDLE_SECONDS = 12 * 3600.0
"""Time without a tab after which a table is cleared."""
CLEANING_SECONDS = 60.0
"""Interval at which tables are looked at."""
LOAD_WITHOUT_TAB_SECONDS = 3.0
"""Time after which the players are loaded, even if no tab has come."""


class Server(Services):
    """The sessions of a server, one for each tab.

    Args:
        players, games, experts, folder: see `Services`.

    Attributes:
        sessions: the sessions by the keys of their tables.
    """

    def __init__(
        self,
        players: PlayerCatalog,
        games: dict[str, GameSpec],
        *,
        experts: ExpertMoves | None = None,
        folder: Path = Path(),
    ) -> None:
        super().__init__(players, games, experts, folder)
        self.sessions: dict[str, TabSession] = {}
        self._loading = False

    # --- beginning and ending -----------------------------------------------------------------------

    def open(self) -> None:
        """Begin to compile the rules of the games; the page is served meanwhile."""
        self.warm_up()
        self.call_later(LOAD_WITHOUT_TAB_SECONDS, self.load)
        self.create_task(self._clean())

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
            analyst = self.players.analyst(name, DEFAULT_GAME)
            analyst.search(DEFAULT_GAME.game(), sims=32, stop=job.stop)
        except Exception as error:
            self.call_soon_threadsafe(self.broadcast_status, f"the network cannot be loaded: {error}")
            raise
        self.call_soon_threadsafe(self.broadcast_status, "")

    def broadcast_status(self, text: str) -> None:
        """See `Services`."""
        self.status = text
        for session in self.sessions.values():
            session.push({"type": "status", "text": text, "ready": not text})

    async def _clean(self) -> None:
        while True:
            await asyncio.sleep(CLEANING_SECONDS)
            for session in list(self.sessions.values()):
                if session.link is None and self.now() - session.left_at > IDLE_SECONDS:
                    self._drop(session)

    def _drop(self, session: TabSession) -> None:
        session.replace()
        del self.sessions[session.table.key]

    def close(self) -> None:
        """Save all games, end all searches, and release what is loaded."""
        self.end_tasks()
        for session in self.sessions.values():
            session.replace()
        self.end_threads()
        self.players.close()

    # --- tables -------------------------------------------------------------------------------------

    def session(self, key: str | None) -> tuple[TabSession, bool]:
        """Return the session with a key, or a new one; and whether it is new.

        Raises:
            ActionError: there are too many.
        """
        if key is not None and key in self.sessions:
            return self.sessions[key], False
        if len(self.sessions) >= MAX_TABLES:
            alone = [session for session in self.sessions.values() if session.link is None]
            if not alone:
                raise ActionError(f"{MAX_TABLES} tabs are open already; close one")
            self._drop(min(alone, key=lambda session: session.left_at))
        made = TabSession(self, Table(secrets.token_urlsafe(16), DEFAULT_GAME))
        self.sessions[made.table.key] = made
        return made, True
