"""The WebSocket of a tab: searches that it asks for, one of each kind at a time, and what they find."""

import asyncio
import json
import logging
import threading
from contextlib import suppress
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.websockets import WebSocket, WebSocketDisconnect

from ckai.cli.playing.explain import Explainer
from ckai.cli.playing.record import error_text
from ckai.cli.web.rules import Moves, Start, Word, describe, played
from ckai.cli.web.searches import Job, Priority
from ckai.cli.web.server import Server

MAX_CHARACTERS = 256 * 1024
"""Largest message."""
EXPECTED_ERRORS = (ValueError, OSError, RuntimeError, NotImplementedError)
"""Errors that people can do something about; others are logged."""
EXPLAIN_SECONDS = 1.0
"""Time of each search for an explanation."""
SLOW_SECONDS = 0.3
"""Time after which the page is told that a search waits or loads its engine."""
PRIORITIES = {"play": Priority.MOVE, "analyse": Priority.ANALYSIS}
_LOG = logging.getLogger("ckai.board")
Count = Annotated[int, Field(ge=1, le=10_000_000)]
Seconds = Annotated[float, Field(ge=0, le=1e6)]


class Asked(BaseModel):
    """A message of the page."""

    model_config = ConfigDict(strict=True, extra="forbid")
    id: Annotated[int, Field(ge=0, le=2**53)]
    """Its number, which the answers have too."""
    kind: Literal["play", "ask", "analyse", "explain", "inside", "now", "stop"]
    """A newer search of a kind replaces the older one. `now` and `stop` end the search with that id: with its
    result so far, or without."""
    game: Word = "checkers"
    start: Start = ""
    moves: Moves = ()
    engine: Word = ""
    """Empty: the one that explains and judges."""
    lines: Annotated[int, Field(ge=1, le=10)] = 1
    seconds: Annotated[float, Field(gt=0, le=3600)] | None = None
    visits: Count | None = None
    clock: Seconds | None = None
    """Seconds left of the side to move."""
    increment: Seconds = 0.0


class Connection:
    """One WebSocket; a slow tab misses results between the newest ones."""

    def __init__(self, socket: WebSocket, server: Server) -> None:
        self._socket, self._server = socket, server
        self._loop = asyncio.get_running_loop()
        self._jobs: dict[str, tuple[int, Job]] = {}
        self._news: dict[int | None, dict[str, Any]] = {}
        """The newest message about each search that has not been sent."""
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Serve the tab until it goes; then what it asked for ends."""
        await self._socket.accept()
        writer = asyncio.create_task(self._write())
        try:
            while (frame := await self._socket.receive())["type"] != "websocket.disconnect":
                self._take(frame.get("text"))
        finally:
            writer.cancel()
            for kind in list(self._jobs):
                self._cancel(kind)

    async def _write(self) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):  # gone while something was sent
            while await self._changed.wait():
                self._changed.clear()
                while self._news:
                    number = next(iter(self._news))
                    await self._socket.send_text(json.dumps({"id": number, **self._news.pop(number)}))

    def _tell(self, number: int | None, message: dict[str, Any], final: bool) -> None:
        self._news[number] = message | {"final": final}
        self._changed.set()

    def _take(self, text: str | None) -> None:
        number = None
        try:
            if text is None:
                raise ValueError("expected a text frame, found a binary one")
            if len(text) > MAX_CHARACTERS:
                raise ValueError(f"expected at most {MAX_CHARACTERS:,} characters, found {len(text):,}")
            data = read_json(text)
            number = data.get("id") if type(data.get("id")) is int else None
            asked = Asked.model_validate(data)
            if asked.kind not in ("now", "stop"):
                self._begin(asked)
            for kind, (each, job) in list(self._jobs.items()):
                if each == asked.id and asked.kind == "now":
                    job.stop.set()
                elif each == asked.id and asked.kind == "stop":
                    self._cancel(kind)
        except Exception as error:
            self._tell(number, {"error": refusal(error)}, True)

    def _cancel(self, kind: str) -> None:
        if kind in self._jobs:
            self._server.searches.cancel(self._jobs.pop(kind)[1])

    def _begin(self, asked: Asked) -> None:
        server, spec = self._server, self._server.spec(asked.game)
        self._cancel(asked.kind)

        def tell(message: dict[str, Any], final: bool = False) -> None:
            with suppress(RuntimeError):  # the server has ended
                self._loop.call_soon_threadsafe(self._tell, asked.id, message, final)

        def work(job: Job) -> None:
            slow = threading.Timer(SLOW_SECONDS, tell, [{"waiting": "Loading the engine …"}])
            slow.start()
            try:
                game = played(spec, asked.start, asked.moves)
                if asked.kind != "explain" and (over := game.outcome()) is not None:
                    raise ValueError(f"expected a position with a legal move, but the game is over: {over}")
                server.ready.wait()
                engine = server.engine(asked.engine, spec)
                slow.cancel()
                found = _search(server, job, asked, game, engine, tell)
                again = job.interrupted and not job.cancelled and job.priority == Priority.ANALYSIS
                tell(found | ({"waiting": "Another search comes first …"} if again else {}), not again)
            except Exception as error:
                if not job.cancelled:
                    tell({"error": refusal(error)}, True)
            finally:
                slow.cancel()

        job = Job(PRIORITIES.get(asked.kind, Priority.QUESTION), work)
        self._jobs[asked.kind] = asked.id, job
        server.searches.submit(job)


def _search(server: Server, job: Job, asked: Asked, game: Any, engine: Any, tell: Any) -> dict[str, Any]:
    """Return what a search finds; in the thread of searches."""
    from ckai.cli.playing.engines import choose_move
    from ckai.cli.playing.lines import search_lines
    from ckai.cli.web.inside import look_inside
    from ckai.rl.engine.base import ResignsError
    from ckai.rl.engine.limit import Limit
    from ckai.rl.games.clock import Clock, TimeControl

    spec, position, lines = engine.spec, game.position, asked.lines
    if asked.kind == "inside":
        return look_inside(spec, game, asked.engine.partition("@")[0], engine, asked.visits or 400, job)
    if asked.kind == "explain":
        if not asked.moves:
            raise ValueError("expected a move to explain, found the first position")
        move, find = (
            game.pop(),
            partial(search_lines, engine, limit=Limit(seconds=EXPLAIN_SECONDS), stop=job.stop),
        )
        return {"text": Explainer(spec, lambda at, n: find(at, lines=n), server.experts).explain(game, move)}
    if asked.kind == "play":
        tell({"begun": True})  # its clock does not run while it is loaded or waits for others
        control = None if asked.clock is None else TimeControl(max(0.01, asked.clock), asked.increment)
        try:
            clock = None if control is None else Clock(control)
            result = choose_move(engine, game, clock=clock, chance=server.chance, stop=job.stop)
        except ResignsError:
            return {"resigns": True}
    else:
        limit = Limit(seconds=asked.seconds, visits=asked.visits)
        on_result = lambda found: tell(describe(spec, position, found, lines))  # noqa: E731
        result = search_lines(engine, game, limit, lines, job.stop, on_result)
    return describe(spec, position, result, lines)


def read_json(text: str | bytes) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        ValueError: it is none.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ValueError(f"expected a JSON object, found {text[:60]!r}")
    return data


def refusal(error: Exception) -> str:
    """Return an error as one line; of wrong fields, what is wrong with the first one."""
    if not isinstance(error, EXPECTED_ERRORS):
        _LOG.error("a request failed", exc_info=error)
    text = error_text(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        found = "" if first["type"].startswith("missing") else f", found {str(first['input'])[:60]!r}"
        text = f"{'.'.join(map(str, first['loc']))}: {first['msg'][0].lower()}{first['msg'][1:]}{found}"
    return " ".join(text.split()) or type(error).__name__
