"""One search at a time over the whole server: what waits, what gives way, and how a search is stopped."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from ckai.rl.engine.base import Stop

KINDS = ("play", "ask", "explain", "inside", "analyse")
"""Kinds of searches: what goes first. An analysis gives way to everything, also to a newer one."""


@dataclass(order=True)
class Search:
    """A search that waits for its turn, runs or has ended."""

    order: tuple[int, int]
    """Of two searches the lower one goes first."""
    work: Callable[["Search"], Any] = field(compare=False)
    """Searches with `stop`, in the thread of searches; an analysis that is `interrupted` is called again."""
    tell: Callable[[dict[str, Any]], Any] = field(compare=False)
    """Takes an answer before the last one; may be called from any thread."""
    found: "asyncio.Future[Any]" = field(compare=False)
    """What `work` returns in the end, or its error; cancelled if nobody wants it any more."""
    stop: Stop = field(compare=False, default_factory=Stop)
    interrupted: bool = field(compare=False, default=False)

    def end(self, *, cancel: bool = False) -> None:
        """End the search soon, with its result so far or without one."""
        if cancel:
            self.found.cancel()
        with suppress(Exception):  # of a program that has died: its search ends with that error
            self.stop.set()


class Searches:
    """Runs searches one at a time in `thread`; its methods are for the thread of the server."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, "ckai-board-search")
        self._numbers = count()
        self._waiting: asyncio.PriorityQueue[Search] = asyncio.PriorityQueue()
        self._running: Search | None = None

    def submit(self, kind: str, work: Callable[[Search], Any], tell: Callable[..., Any]) -> Search:
        """Put a search in its place; an analysis that runs gives way to it."""
        last, number = KINDS[-1], next(self._numbers)
        order = (KINDS.index(kind), -number if kind == last else number)
        search = Search(order, work, tell, asyncio.get_running_loop().create_future())
        self._waiting.put_nowait(search)
        if self._running is not None and KINDS[self._running.order[0]] == last:
            self._running.interrupted = True
            self._running.end()
        return search

    async def run(self) -> None:
        """Run what is submitted."""
        while search := await self._waiting.get():
            if search.found.done():
                continue
            self._running = search
            run = asyncio.get_running_loop().run_in_executor(self.thread, search.work, search)
            await asyncio.wait([run])
            self._running, error = None, run.exception()
            if search.found.done():
                continue
            if error:
                search.found.set_exception(error)
            elif search.interrupted:
                search.tell({"waiting": "Another search comes first …"})
                search.stop, search.interrupted = Stop(), False
                self._waiting.put_nowait(search)
            else:
                search.found.set_result(run.result())

    async def close(self, seconds: float = 2.0) -> None:
        """End the search that runs, and wait for that, but not longer than `seconds`; drop what waits."""
        if self._running is not None:
            self._running.end(cancel=True)
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self.thread.shutdown, cancel_futures=True), seconds)
