"""The room of the server: its tables, and what is loaded when it begins."""

import asyncio
import secrets
from pathlib import Path

from ckai.cli.playing.experts import ExpertMoves
from ckai.cli.web.desk import Desk
from ckai.cli.web.players import Players
from ckai.cli.web.searches import Job, Priority
from ckai.cli.web.services import Services
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


class Room(Services):
    """The tables of a server.

    Args:
        players, games, experts, folder: see `Services`.

    Attributes:
        desks: the tables by their keys.
    """

    def __init__(
        self,
        players: Players,
        games: dict[str, GameSpec],
        *,
        experts: ExpertMoves | None = None,
        folder: Path = Path(),
    ) -> None:
        super().__init__(players, games, experts, folder)
        self.desks: dict[str, Desk] = {}
        self._loading = False

    # --- beginning and ending -----------------------------------------------------------------------

    def open(self) -> None:
        """Begin to compile the rules of the games; the page is served meanwhile."""
        self.warm_up()
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

    def _find(self, job: Job) -> None:
        try:
            self.players.find()
        except Exception as error:
            self.call(self.found.set)  # people can play each other
            self.call(self.tell, f"no players can be loaded: {error}")
            raise
        self.call(self._found_players)

    def _found_players(self) -> None:
        self.found.set()
        for desk in self.desks.values():
            desk.push({"type": "players", "players": self.players.offered, "networks": self.players.networks})
            desk.refresh()
        self.tell("loading the network ...")

    def _load_first(self, job: Job) -> None:
        """Load what the first analysis needs, so that it begins at once."""
        try:
            name = self.players.network(None, DEFAULT_GAME)
            analyst = self.players.analyst(name, DEFAULT_GAME)
            analyst.search(
                DEFAULT_GAME.game(), lines=1, visits=32, seconds=None, job=job, publish=lambda result: None
            )
        except Exception as error:
            self.call(self.tell, f"the network cannot be loaded: {error}")
            raise
        self.call(self.tell, "")

    def tell(self, text: str) -> None:
        """See `Services`."""
        self.status = text
        for desk in self.desks.values():
            desk.push({"type": "status", "text": text, "ready": not text})

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
        self.end_tasks()
        for desk in self.desks.values():
            desk.replace()
        self.end_threads()
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
                raise TableError(f"{MOST_TABLES} tabs are open already; close one")
            self._drop(min(alone, key=lambda desk: desk.left_at))
        made = Desk(self, Table(secrets.token_urlsafe(16), DEFAULT_GAME))
        self.desks[made.table.key] = made
        return made, True
