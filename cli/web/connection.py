"""The WebSocket of a tab: what it asks for, and the answers."""

import asyncio
import json
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from ckai.cli.playing.saved import list_games, saved_games
from ckai.cli.shared.output import error_text
from ckai.cli.web import files
from ckai.cli.web.rules import Asked, look, played
from ckai.cli.web.server import KINDS, Search, Server
from ckai.rl.games.registry import DEFAULT_GAME

EXPECTED_ERRORS = (ValueError, OSError, RuntimeError, NotImplementedError)
"""Errors that people can do something about; others are logged."""
_LOG = logging.getLogger("ckai.board")


def _players(server: Server) -> dict[str, Any]:
    """Return who can play and analyse; once that is known, load what the first analysis needs."""
    if "players" not in vars(server):  # later nobody waits for the search that runs
        server.searches.thread.submit(lambda: server.players).result()
        server.searches.thread.submit(server.engine, "", DEFAULT_GAME, dict)
    return {"players": [each._asdict() for each in server.players]}


REQUESTS: dict[str, Callable[..., dict[str, Any]]] = {
    "players": _players,
    "legal": lambda server, **place: look(*played(Asked(**place))),
    "save": lambda server, game, **file: {"name": files.save(**file)},
    "games": lambda server: {"rows": saved_games()},
    "game": lambda server, **which: files.saved_game(**which),
    "pdn": lambda server, text: {"rows": list_games(text.encode())},
    "read": lambda server, text: files.read_tree(text.encode()),
}
"""What answers each request that is no search; its arguments are the fields."""


class Connection:
    """Answers the messages of one WebSocket; a slow tab misses results between the newest ones.

    A message is a JSON object: `id`, `kind` and the fields of a request or of a search. Its answers have the
    `id` too, and the last one is `final`, maybe with an `error`. The kinds `now` and `stop` end the search
    with that id, with its result so far or without one.
    """

    def __init__(self, socket: WebSocket, server: Server) -> None:
        self._socket, self._server = socket, server
        self._searches: dict[int, Search] = {}
        self._news: dict[Any, dict[str, Any]] = {}
        """The newest answer to each message that has not been sent."""
        self._changed = asyncio.Event()

    async def run(self) -> None:
        """Serve the tab until it goes; then its searches end."""
        await self._socket.accept()
        writer = asyncio.create_task(self._write())
        try:
            while (frame := await self._socket.receive())["type"] != "websocket.disconnect":
                self._take(frame.get("text") or "")
        finally:
            writer.cancel()
            for search in self._searches.values():
                search.end(cancel=True)

    async def _write(self) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):  # gone while something was sent
            while await self._changed.wait():
                self._changed.clear()
                while self._news:
                    number = next(iter(self._news))
                    await self._socket.send_text(json.dumps({"id": number, **self._news.pop(number)}))

    def _tell(self, number: Any, answer: dict[str, Any]) -> None:
        self._news[number] = answer
        self._changed.set()

    def _take(self, text: str) -> None:
        number = None
        try:
            fields = json.loads(text)
            number, kind = int(fields.pop("id")), str(fields.pop("kind"))
            if kind not in ("now", "stop"):
                self._begin(number, kind, fields).add_done_callback(partial(self._finish, number))
            elif search := self._searches.get(number):
                search.end(cancel=kind == "stop")
        except Exception as error:
            self._tell(number, {"error": refusal(error), "final": True})

    def _begin(self, number: int, kind: str, fields: dict[str, Any]) -> "asyncio.Future[Any]":
        server, loop = self._server, asyncio.get_running_loop()
        if kind in REQUESTS:
            return loop.run_in_executor(None, partial(REQUESTS[kind], server, **fields))
        if kind not in KINDS:
            raise ValueError(f"expected one of {', '.join((*REQUESTS, *KINDS))}, found {kind[:60]!r}")
        asked = Asked(kind=kind, **fields)

        def work(search: Search) -> Any:
            from ckai.cli.web.thinking import answer

            return answer(server, asked, search)

        def tell(answer: dict[str, Any]) -> None:
            loop.call_soon_threadsafe(self._tell, number, answer)

        search = self._searches[number] = server.searches.submit(kind, work, tell)
        return search.found

    def _finish(self, number: int, found: "asyncio.Future[Any]") -> None:
        self._searches.pop(number, None)
        if not found.cancelled():
            error = found.exception()
            self._tell(number, ({"error": refusal(error)} if error else found.result()) | {"final": True})


def refusal(error: Any) -> str:
    """Return an error as one line."""
    if not isinstance(error, EXPECTED_ERRORS):
        _LOG.error("a request failed", exc_info=error)
    return error_text(error)
