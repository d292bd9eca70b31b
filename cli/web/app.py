"""The application: the page, its files, the WebSocket, and who may speak to it."""

import re
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from ckai.cli.pages.board import shapes
from ckai.cli.web.connection import Connection
from ckai.cli.web.server import Server

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
"""Names of this machine by which only this machine can be reached."""
MAX_SOCKETS = 64
"""Most tabs at once."""


def make_app(make_server: Callable[[], Server], token: str | None = None) -> Starlette:
    """Return the application.

    Args:
        make_server: makes the server, in the event loop.
        token: that the address or the cookie of a request must have; None: none, and then only requests to a
            name of this machine itself are let in, against DNS rebinding.
    """
    text = (files("ckai.cli.web") / "static" / "index.html").read_text(encoding="utf-8")
    index = text.replace("<!-- shapes -->", str(shapes()))
    sockets: set[WebSocket] = set()

    async def page(request: Request) -> HTMLResponse:
        return HTMLResponse(index)

    async def serve_tab(socket: WebSocket) -> None:
        if len(sockets) >= MAX_SOCKETS:
            await socket.close(1013)
            return
        sockets.add(socket)
        try:
            await Connection(socket, socket.app.state.server).run()
        finally:
            sockets.discard(socket)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.server = server = make_server()
        server.open()
        try:
            yield
        finally:
            server.close()

    static = StaticFiles(packages=[("ckai.cli.web", "static"), ("ckai.cli.pages", "static")])
    hosts = LOOPBACK if token is None else ("*",)
    return Starlette(
        routes=[Route("/", page), Mount("/static", static), WebSocketRoute("/ws", serve_tab)],
        middleware=[
            Middleware(Guard, token=token),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        ],
        lifespan=lifespan,
    )


class Guard:
    """Asks for the token and for the origin of the page itself; adds the headers to what is answered."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, see ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        asked = HTTPConnection(scope)
        host = asked.headers.get("host", "")
        port = host.rpartition(":")[2]  # servers on other ports share the cookies of a host
        cookie = f"ckai-board-{port}" if port.isdigit() else "ckai-board"
        fixed = _headers_for(host)

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(fixed)
                if self._token is not None and message["status"] < 400:
                    headers["set-cookie"] = f"{cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            await send(message)

        given = (asked.query_params.get("token", ""), asked.cookies.get(cookie, ""))
        origins = (f"http://{host}".lower(), f"https://{host}".lower())
        answer: Any = self._app
        if self._token is not None and not any(
            secrets.compare_digest(each.encode(), self._token.encode()) for each in given
        ):
            answer = PlainTextResponse(
                "expected the token of the address that `ckai board` printed, found none or another\n", 403
            )
        elif scope["type"] == "websocket" and asked.headers.get("origin", "").lower() not in origins:
            answer = PlainTextResponse(
                "expected a connection from the page itself, found another origin\n", 403
            )
        await answer(scope, receive, sent)


def _headers_for(host: str) -> dict[str, str]:
    """Return the headers of every answer: nothing but the page's own files may be loaded or run."""
    named = re.fullmatch(r"[A-Za-z0-9.:\[\]-]{1,300}", host) is not None
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self' ws://{host}" if named else "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
    }
