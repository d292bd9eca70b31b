"""The session of a tab at its table: what the page is sent, which searches run, clocks, and the file."""

import asyncio
import secrets
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from ckai.cli.playing.engines import choose_move
from ckai.cli.playing.record import error_text
from ckai.cli.playing.session import Side, out_of_time, resigned
from ckai.cli.web.searches import Job, Priority
from ckai.cli.web.server import Server
from ckai.cli.web.state import points_of, search_of, state_of
from ckai.cli.web.table import PLAY, ActionError, Table
from ckai.cli.web.tree import Node
from ckai.rl.engine.base import ResignsError
from ckai.rl.games.registry import DEFAULT_GAME

if TYPE_CHECKING:
    from ckai.cli.web.library import Library

MAX_TABLES = 32
"""Most tables at once; the one that has been without a tab for longest makes room."""
SAVE_SECONDS = 1.0
"""Time after which a changed analysis is saved, if it saves itself; a game is saved at once."""


class TabSession:
    """A tab at its table; it outlives a page that is loaded again. All methods run in the event loop.

    Attributes:
        server: what all sessions share.
        table: the game.
        link: the `Connection` to the tab; None while there is none.
        library: the list of games that was loaded; None without.
        lines, analysing: most lines of an analysis of the node shown, and whether it is analysed.
        left_at: when the tab went, by the loop's clock.
    """

    def __init__(self, server: Server, table: Table) -> None:
        self.server, self.table = server, table
        self.link: Any = None
        self.library: Library | None = None
        self.follower: asyncio.Task[None] | None = None
        self.lines, self.analysing = 3, False
        self._analysts: dict[str, str] = {}
        self.left_at = server.now()
        self._move: tuple[Any, Job] | None = None
        self._analysis: tuple[Any, Job] | None = None
        self._last_messages: dict[Job, dict[str, Any]] = {}
        """The last message of each analysis that has not ended."""
        self._thinking = False
        self._others: set[Job] = set()
        self._sent: Any = None
        """Which version of the nodes the tab has."""
        self._saved = 0
        self._timer: asyncio.TimerHandle | None = None
        self._flag: asyncio.TimerHandle | None = None

    @property
    def analyst(self) -> str | None:
        """The name of the network that analyses the game, as the tab has chosen it; None: it has not."""
        return self._analysts.get(self.table.spec.name)

    @analyst.setter
    def analyst(self, name: str) -> None:
        self._analysts[self.table.spec.name] = name

    # --- the tab ------------------------------------------------------------------------------------

    def enter(self, link: Any) -> None:
        """Take a tab; one that was here before is closed."""
        if self.link is not None:
            self.link.close("this game was opened in another tab")
        self.link, self._sent = link, None

    def leave(self, link: Any) -> None:
        """The tab has gone: what it searched for ends, its clocks stand still, its game is saved."""
        if self.link is not link:
            return
        self.link, self.left_at = None, self.server.now()
        self.unfollow()
        self.cancel()
        if self.table.clock is not None:
            self.table.clock.pause()
        self.save()
        self.refresh()

    def push(self, message: dict[str, Any]) -> None:
        """Send a message to the tab, if there is one."""
        if self.link is not None:
            self.link.send(message)

    def unfollow(self) -> None:
        """Stop following a run."""
        if self.follower is not None:
            self.follower.cancel()
            self.follower = None

    def refresh(self, *, saving: bool = True) -> None:
        """After any change: start and end searches and clocks, save, and tell the tab."""
        self._sync_move_job()
        self._sync_analysis_job()
        self._run_clock()
        if saving:
            self._save_soon()
        if self.link is not None:
            tree = self.table.tree
            now = (tree.key, len(tree), self.table.changed)
            player = self.server.players.network(self.analyst, self.table.spec)
            analyse = {"on": self.analysing, "lines": self.lines, "player": player}
            thinking = self.table.side if self._thinking else None
            tables = self.server.players.tables
            new = now != self._sent
            self.push(state_of(self.table, tables, thinking=thinking, analyse=analyse, nodes=new))
            self._sent = now

    # --- the player's move --------------------------------------------------------------------------

    def _sync_move_job(self) -> None:
        """Let a player search if it is to move, and nobody otherwise."""
        table = self.table
        wanted = None
        if self.link is not None and table.going_on and not table.seats[table.side].human:
            wanted = (table.tree.key, table.current.id, table.seats[table.side])
        if self._move is not None and self._move[0] != wanted:
            self._end_move_job()
        if wanted is not None and self._move is None:
            self._thinking, table.trouble = True, ""
            self._move = wanted, self.server.searches.submit(Job(Priority.MOVE, self._move_work()))

    def _end_move_job(self) -> None:
        if self._move is not None:
            self.server.searches.cancel(self._move[1])
        self._move, self._thinking = None, False

    def _move_work(self) -> Callable[[Job], None]:
        """Return what searches for the move of the player to move."""
        table, server = self.table, self.server
        node, side, clock = table.current, table.side, table.clock
        seat, game = table.seats[side], table.tree.game(node)

        def work(job: Job) -> None:
            try:
                lazy = server.players.engine(seat.spec, table.spec)
                with server.status_if_slow(f"loading {seat.name} ..."):
                    engine = lazy.get()
                if job.cancelled:
                    return
                own = None
                if clock is not None:  # it does not run while the player is loaded or waits for others
                    clock.start(side, node.ply)
                    own = clock.sides[side]
                    server.call_soon_threadsafe(self.refresh)
                chance = server.players.chance
                result = choose_move(engine, game, clock=own, chance=chance, stop=job.stop)
            except Exception as error:
                server.call_soon_threadsafe(self._failed, job, error)
                raise
            server.call_soon_threadsafe(self._moved, job, node, result)

        return work

    def _moved(self, job: Job, node: Node, result: Any) -> None:
        """Play the move that a player has chosen, unless it is not wanted any more."""
        if self._move is None or self._move[1] is not job or job.cancelled:
            return
        self._move, self._thinking = None, False
        if result.value is not None:
            node.black = points_of(float(result.value), black=node.position.black)
        with suppress(ActionError):  # the time is up, which the state says
            self.table.play(result.move, person=False)
        self.refresh()

    def _failed(self, job: Job, error: Exception) -> None:
        """Say why a player cannot move; the game waits."""
        if self._move is not None and self._move[1] is job:
            self._thinking = False
            if isinstance(error, ResignsError):
                self.table.end(resigned(self.table.side))
            else:
                self.table.trouble = error_text(error)
            self.refresh()

    # --- the analysis -------------------------------------------------------------------------------

    def _sync_analysis_job(self) -> None:
        """Analyse the node shown if that is switched on."""
        table, node = self.table, self.table.shown
        wanted = None
        if self.link is not None and self.analysing and node.position.legal_moves():
            wanted = (table.tree.key, node.id, self.lines, self.analyst)
        if self._analysis is not None and self._analysis[0] != wanted:
            self.server.searches.cancel(self._analysis[1])
            self._analysis = None
        if wanted is not None and self._analysis is None:
            job = Job(
                Priority.ANALYSIS,
                self._analysis_work(),
                preemptible=True,
                on_end=lambda: self._analysis_ended(job, node),
            )
            self._analysis = wanted, job
            self.server.submit(job)

    def _analysis_work(self) -> Callable[[Job], None]:
        """Return what analyses the node shown."""
        table, server, lines = self.table, self.server, self.lines
        node, spec = table.shown, table.spec
        name, game = self.analyst, table.tree.game(table.shown)
        about = {"type": "search", "tree": table.tree.key, "node": node.id}

        def report(job: Job, result: Any, **more: Any) -> None:
            found = search_of(spec, node.position, result, lines)
            message = about | {"player": source, "final": False, "reason": None}
            server.call_soon_threadsafe(self._found, job, node, message | found | more)

        source = ""

        def work(job: Job) -> None:
            nonlocal source
            try:
                source, engine = server.load_network(name, spec)
                from ckai.rl.engine.limit import Limit

                found = partial(report, job)
                result = engine.play(game, Limit(), lines=lines, stop=job.stop, on_result=found)
            except Exception as error:
                failed = about | {"final": True, "reason": "error", "text": error_text(error)}
                server.call_soon_threadsafe(self._found, job, node, failed)
                raise
            if job.interrupted and not job.cancelled:
                report(job, result, waiting=True)
            else:
                report(job, result, final=True, reason=str(result.reason or "visits"))

        return work

    def _found(self, job: Job, node: Node, message: dict[str, Any]) -> None:
        """Tell the tab what an analysis has found, unless it looks at something else by now."""
        current = self._analysis is not None and self._analysis[1] is job
        self._last_messages[job] = message
        if current or (message["final"] and node is self.table.shown):
            node.black = message.get("black", node.black)
            self.push(message)

    def _analysis_ended(self, job: Job, node: Node) -> None:
        """Tell the tab that an analysis ended while it gave way to others."""
        last = self._last_messages.pop(job, None)
        if last is not None and not last["final"]:
            self._found(job, node, last | {"final": True, "waiting": False, "reason": "stopped"})
            del self._last_messages[job]

    # --- single questions ---------------------------------------------------------------------------

    def searcher(self) -> Callable[..., Any]:
        """Return what searches the current position of a game with the tab's network, for a job."""
        server, spec, name = self.server, self.table.spec, self.analyst

        def search(
            job: Job, game: Any, *, lines: int = 1, visits: int | None = None, seconds: float | None = None
        ) -> Any:
            _, engine = server.load_network(name, spec)
            return engine.search(game, sims=visits, seconds=seconds, lines=lines, stop=job.stop)

        return search

    async def ask(
        self, work: Callable[[Job], Any], priority: Priority = Priority.QUESTION, *, preemptible: bool = False
    ) -> Any:
        """Run a search and return what it returns.

        Raises:
            ActionError: it was stopped before it had begun.
            Exception: whatever it raised.
        """
        answer: list[Any] = []
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def run(job: Job) -> None:
            answer[:] = [work(job)]

        def end() -> None:
            if not ended.done():
                ended.set_result(None)

        job = Job(priority, run, preemptible=preemptible, on_end=end)
        self._others.add(job)
        self.server.submit(job)
        try:
            await ended
        finally:
            self._others.discard(job)
        if job.error is not None:
            raise job.error
        if not answer:
            raise ActionError("stopped")
        return answer[0]

    def stop(self) -> None:
        """End what is searched for this table; the player that is to move moves now."""
        self.analysing = False
        self.cancel()
        if self._thinking and self._move is not None:
            self._move[1].stop.set()

    def cancel(self, priority: Priority | None = None) -> None:
        """Cancel the questions to a search: those of a priority, or all."""
        for job in [each for each in self._others if priority in (None, each.priority)]:
            self.server.searches.cancel(job)

    # --- clocks -------------------------------------------------------------------------------------

    def _run_clock(self) -> None:
        """Run the clock of a person who is to move, and see to the end of its time."""
        table, clock = self.table, self.table.clock
        if self._flag is not None:
            self._flag.cancel()
            self._flag = None
        if clock is None:
            return
        if not (self.link is not None and table.going_on):
            clock.pause()
            return
        side: Side = table.side
        if table.seats[side].human:
            clock.start(side, table.current.ply)
        if clock.sides[side].running:
            self._flag = self.server.call_later(max(0.0, clock.left(side)), self._on_flag_fall)

    def _on_flag_fall(self) -> None:
        table, clock = self.table, self.table.clock
        if clock is not None and table.going_on and clock.left(table.side) <= 0:
            table.end(out_of_time(table.side))
            self.refresh()
        else:  # a timer may be early
            self._run_clock()

    # --- saving -------------------------------------------------------------------------------------

    def _save_soon(self) -> None:
        if self.table.changed == self._saved:
            return
        if self.table.mode == PLAY:
            self.save()
        elif self._timer is None:
            self._timer = self.server.call_later(SAVE_SECONDS, self._save_late)

    def _save_late(self) -> None:
        self._timer = None
        self.save()

    def save(self, *, always: bool = False) -> "asyncio.Future[str]":
        """Write a changed game to its file, if it saves itself; errors become the table's `problem`.

        Args:
            always: write it in any case.

        Returns:
            The path, once written; empty if there is nothing to save; an ActionError if writing fails.
        """
        table = self.table
        done: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if not always and (table.changed == self._saved or not table.saves_itself):
            done.set_result("")
            return done
        table.choose_file()
        self._saved, text, record = table.changed, table.pdn(), table.record
        before = record.path, table.problem

        def written(path: str, problem: str | None) -> None:
            table.problem = problem
            if problem is None:
                done.set_result(path)
            else:
                self._saved = -1  # the next change tries again
                done.set_exception(ActionError(problem))
                done.exception()  # the state has it, too
            if before != (record.path, problem):
                self.refresh(saving=False)

        def write() -> None:
            try:
                path = str(record.write(text))
            except (OSError, ValueError) as error:
                problem = f"the game could not be saved: {error_text(error)}"
                self.server.call_soon_threadsafe(written, "", problem)
            else:
                self.server.call_soon_threadsafe(written, path, None)

        self.server.write(write)
        return done

    def replace(self) -> None:
        """Save the game before another one takes its place, and end its searches."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.save()
        self.cancel()
        self._end_move_job()  # it has the clock of that game, and may have failed there

    def replaced(self) -> None:
        """Another game has taken its place, which is not to be saved before it is changed."""
        self._saved = self.table.changed
        self._sent = None
        self.refresh()


def session_of(server: Server, key: str | None) -> tuple[TabSession, bool]:
    """Return the session of the table with a key, or a new one; and whether it is new.

    Raises:
        ActionError: there are too many.
    """
    sessions: dict[str, TabSession] = server.sessions
    if key is not None and key in sessions:
        return sessions[key], False
    if len(sessions) >= MAX_TABLES:
        alone = [session for session in sessions.values() if session.link is None]
        if not alone:
            raise ActionError(f"{MAX_TABLES} tabs are open already; close one")
        oldest = min(alone, key=lambda session: session.left_at)
        oldest.replace()
        del sessions[oldest.table.key]
    made = TabSession(server, Table(secrets.token_urlsafe(16), DEFAULT_GAME))
    sessions[made.table.key] = made
    return made, True
