"""A search in a thread of its own, from `go` to `done`."""

import threading
from collections.abc import Callable

from ckai.game import Game
from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.limit import Limit
from ckai.rl.hub.info import done_line, info_line
from ckai.rl.players.hub_text import write_line
from ckai.rl.thinkers.thinker import Interrupt, Report, Thinker

INFO_SECONDS = 0.1
"""Least time between two `info` messages of one search, but for the last one."""


class HubSearch:
    """A search in progress.

    While it ponders it has no limit and no end: it waits for `hit`, which starts the search proper with what
    was found, or for `stop`.
    """

    def __init__(
        self,
        thinker: Thinker,
        game: Game,
        limit: Limit,
        *,
        ponder: bool,
        write: Callable[[str], None],
        on_end: Callable[[str], None],
    ) -> None:
        """Start the search.

        Args:
            thinker: searches one position at a time.
            game: the game; its position has a legal move.
            limit: when the search ends; with `ponder`, from the moment of `hit`.
            ponder: whether to ponder first.
            write: sends a line.
            on_end: sends the last line, and takes note that the search has ended.
        """
        self._thinker, self._game, self._limit = thinker, game, limit
        self._write, self._on_end = write, on_end
        self._ponder_interrupt, self._interrupt = Interrupt(), Interrupt()
        self._pondering, self._answered = ponder, threading.Event()
        self._sent_at = -INFO_SECONDS
        self._thread = JoinableThread(target=self._run, name="ckai-hub-search", daemon=True)
        self._thread.start()

    @property
    def pondering(self) -> bool:
        """Whether the search waits for `hit`."""
        return self._pondering

    def stop(self) -> None:
        """End the search and wait until its last line is sent."""
        self._ponder_interrupt.ask()
        self._interrupt.ask()
        self._answered.set()
        self._thread.join()

    def hit(self) -> None:
        """Begin to measure the limit: the opponent has played the expected move."""
        self._pondering = False
        self._ponder_interrupt.ask()
        self._answered.set()

    def _run(self) -> None:
        try:
            last = self._search()
        except Exception as error:  # whatever it is, the other program waits for a move
            self._write(write_line("error", message=f"the search failed: {type(error).__name__}: {error}"))
            last = done_line(Report(pv=self._game.legal_moves()[:1]), self._game.position)
        self._on_end(last)

    def _search(self) -> str:
        if self._pondering:
            report = self._think(self._ponder_interrupt, Limit())
            self._answered.wait()  # a search that has nothing left to do waits too
            if self._pondering:
                return self._last_lines(report)
        return self._last_lines(self._think(self._interrupt, self._limit))

    def _think(self, interrupt: Interrupt, limit: Limit) -> Report:
        self._sent_at = -INFO_SECONDS
        return self._thinker.think(self._game, limit, self._publish, interrupt)

    def _publish(self, report: Report) -> None:
        if report.seconds - self._sent_at >= INFO_SECONDS:
            self._sent_at = report.seconds
            self._send_info(report)

    def _send_info(self, report: Report) -> None:
        line = info_line(report)
        if line is not None:
            self._write(line)

    def _last_lines(self, report: Report) -> str:
        self._send_info(report)
        return done_line(report, self._game.position)
