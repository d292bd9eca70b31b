"""The connection to a tab: its messages in, answers and news out."""

import asyncio
import json
import logging
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect

from ckai.cli.web.actions import Actions
from ckai.cli.web.messages import Message, check_size, read_message, refusal
from ckai.cli.web.server import Server
from ckai.cli.web.state import CONTROLS, game_of
from ckai.cli.web.tab_session import TabSession, session_of

HELLO_SECONDS = 10.0
"""Time in which the first message must come."""
LOAD_DELAY_SECONDS = 0.2
"""Time between the first state and the loading of players, in which the tab gets it."""
MAX_QUESTIONS = 16
"""Questions of a tab that wait for an answer at the same time."""
MAX_UNSENT = 5000
"""Messages that may wait for a tab that does not read them."""
EXPECTED_ERRORS = (ValueError, OSError, RuntimeError, NotImplementedError)
"""Errors that people can do something about."""
_LOG = logging.getLogger("ckai.board")
OPENED_ELSEWHERE, REFUSED = 4000, 4001
"""Codes with which a connection is closed."""


class Connection:
    """One WebSocket, the link of a `TabSession`.

    Args:
        socket: accepted here.
        server: the server.
    """

    def __init__(self, socket: WebSocket, server: Server) -> None:
        self._socket, self._server = socket, server
        self._outbox: asyncio.Queue[str | None] = asyncio.Queue()
        self._code = 1000
        self._questions: set[asyncio.Task[None]] = set()

    # --- out ----------------------------------------------------------------------------------------

    def send(self, message: dict[str, Any]) -> None:
        """Send a message; called in the event loop."""
        if self._outbox.qsize() < MAX_UNSENT:
            self._outbox.put_nowait(json.dumps(message, separators=(",", ":")))
        else:  # it will come back and get the whole state
            self._outbox.put_nowait(None)

    def close(self, text: str) -> None:
        """Say why, and close."""
        self._code = OPENED_ELSEWHERE
        self.send({"type": "closed", "text": text})
        self._outbox.put_nowait(None)

    async def _write(self) -> None:
        with suppress(WebSocketDisconnect, RuntimeError):  # gone while something was sent
            while (text := await self._outbox.get()) is not None:
                await self._socket.send_text(text)
            await self._socket.close(self._code)

    # --- in -----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the tab until it goes."""
        await self._socket.accept()
        writer = asyncio.create_task(self._write())
        session: TabSession | None = None
        try:
            session = await self._hello()
            if session is not None:
                await self._listen(session)
        except WebSocketDisconnect:
            pass
        finally:
            for task in list(self._questions):
                task.cancel()
            if session is not None:
                session.leave(self)
            if not writer.done():
                self._outbox.put_nowait(None)
            await asyncio.wait([writer], timeout=1.0)
            writer.cancel()

    async def _hello(self) -> TabSession | None:
        """Wait for the first message; return the session, or None if the connection is to end."""
        message: Message | None = None
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                message = read_message(await self._text())
            if message.type != "hello":
                raise ValueError(f"expected hello first, found {message.type[:60]}")
            session, fresh = session_of(self._server, message.fields.get("table"))
        except ValueError as error:
            self._code = REFUSED
            self._refuse(message, error)
            return None
        except TimeoutError:
            self._code = REFUSED
            return None
        server = self._server
        session.enter(self)
        self.send(
            {
                "type": "welcome",
                "table": session.table.key,
                "games": [game_of(spec) for spec in server.games.values()],
                "players": server.players.offered,
                "networks": server.players.networks,
                "controls": list(CONTROLS),
                "ready": not server.status,
            }
        )
        self._done(message, {"table": session.table.key, "fresh": fresh})
        if server.status:  # now that the tab has its answer: before, it shows how the connection is
            self.send({"type": "status", "text": server.status, "ready": False})
        await server.warm(session.table.spec)
        if session.link is self:
            session.refresh()
        server.call_later(LOAD_DELAY_SECONDS, server.load)
        return session

    async def _listen(self, session: TabSession) -> None:
        actions = Actions(session)
        while session.link is self:
            message: Message | None = None
            try:
                message = read_message(text := await self._text())
                check_size(message, text)
                if session.link is not self:
                    return
                if message.type == "hello":
                    raise ValueError("expected hello only once")
                answer = actions.run(message.type, message.fields)
                if asyncio.iscoroutine(answer):
                    self._answer_later(message, answer)
                else:
                    self._done(message, answer)
            except WebSocketDisconnect:
                raise
            except Exception as error:
                self._refuse(message, error)

    async def _text(self) -> str:
        """Return the text of the next frame.

        Raises:
            ValueError: it is a binary one.
            WebSocketDisconnect: the tab has gone.
        """
        frame = await self._socket.receive()
        if frame["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(frame["code"])
        text: str | None = frame.get("text")
        if text is None:
            raise ValueError("expected a text frame, found a binary one")
        return text

    def _answer_later(self, message: Message, answer: Coroutine[Any, Any, dict[str, Any]]) -> None:
        """Answer when a coroutine has its result; other messages are answered meanwhile."""
        if len(self._questions) >= MAX_QUESTIONS:
            answer.close()
            raise ValueError(f"expected at most {MAX_QUESTIONS} questions at once, found more")

        async def work() -> None:
            try:
                self._done(message, await answer)
            except Exception as error:
                self._refuse(message, error)

        task = asyncio.create_task(work())
        self._questions.add(task)
        task.add_done_callback(self._questions.discard)

    def _done(self, message: Message, answer: dict[str, Any]) -> None:
        self.send({"type": "done", "id": message.id, **answer})

    def _refuse(self, message: Message | None, error: Exception) -> None:
        """Answer with an error; one that nobody foresaw is logged, too."""
        if not isinstance(error, EXPECTED_ERRORS):
            _LOG.error("%s failed", message, exc_info=error)
        number = None if message is None else message.id
        self.send({"type": "error", "id": number, "text": refusal(error)})
