"""The application: the page, its files, the requests that it makes, and who may make them."""

import asyncio
import re
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from ckai.cli.pages.board import shapes
from ckai.cli.web import api
from ckai.cli.web.connection import Connection, read_json, refusal
from ckai.cli.web.rules import game_of
from ckai.cli.web.server import Server
from ckai.models.pretrained import PRETRAINED
from ckai.rl.engine.text import DEFAULT_LEVEL

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
"""Names of this machine by which only this machine can be reached."""
MAX_BYTES = 8 * 1024 * 1024
"""Largest body of a request: a file of games."""
MAX_SOCKETS = 64
"""Most tabs at once."""
STATIC = ("ckai.cli.web", "ckai.cli.pages")
"""Packages whose folders `static` have the files of the page."""


HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'"
)
"""Nothing but the page's own files may be loaded or run; the address of the WebSocket follows."""


async def _answer(server: Server, request: Request) -> Any:
    """Return what a request to `/api` is answered with.

    Raises:
        ValueError: there is no such request, or it has wrong fields.
    """
    name, reads = request.path_params["name"], request.method != "POST"
    call: Any = (api.READS if reads else api.QUESTIONS | api.BODIES).get(name)
    if call is None:
        raise ValueError(f"expected a request of the page, found {request.method} {name[:60]!r}")
    fields: dict[str, Any] = dict(request.query_params)
    if not reads:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_BYTES:
                raise ValueError(f"expected at most {MAX_BYTES:,} bytes, found more; split the file")
        fields = {"body": bytes(body)} if name in api.BODIES else read_json(bytes(body))
    return await asyncio.to_thread(call, server, **fields)


def make_app(server: Server, token: str | None = None) -> Starlette:
    """Return the application.

    Args:
        server: what requests share; opened and closed with the application.
        token: that the address or the cookie of a request must have; None: none, and then only requests to a
            name of this machine itself are let in, against DNS rebinding.
    """
    tabs = asyncio.Semaphore(MAX_SOCKETS)

    async def respond(request: Request) -> Response:
        try:
            return JSONResponse(await _answer(server, request))
        except Exception as error:
            return JSONResponse({"error": refusal(error)}, 400)

    async def serve_tab(socket: WebSocket) -> None:
        if tabs.locked():
            await socket.close(1013)
            return
        async with tabs:
            await Connection(socket, server).run()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        server.open()
        try:
            yield
        finally:
            server.close()

    index, site = page_text(), site_of(server.games)
    hosts = LOOPBACK if token is None else ("*",)

    async def network(request: Request) -> Response:
        try:
            return Response(await asyncio.to_thread(_network, request.path_params["name"]))
        except ValueError as error:
            return PlainTextResponse(refusal(error), 404)

    return Starlette(
        routes=[
            Route("/", lambda request: HTMLResponse(index)),
            Route("/site.json", lambda request: JSONResponse(site)),
            Route("/networks/{name}", network),
            Route("/api/{name}", respond, methods=["GET", "POST"]),
            Mount("/static", StaticFiles(packages=[(package, "static") for package in STATIC])),
            WebSocketRoute("/ws", serve_tab),
        ],
        middleware=[
            Middleware(Guard, token=token),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        ],
        lifespan=lifespan,
    )


@cache
def _network(name: str) -> bytes:
    """Return an installed network for the page's own engine."""
    from ckai.cli.web.engine_file import engine_file

    if name not in PRETRAINED:
        raise ValueError(f"expected one of {', '.join(PRETRAINED)}, found {name[:60]!r}")
    return engine_file(name)


def page_text() -> str:
    """Return the page."""
    text = (files(STATIC[0]) / "static" / "index.html").read_text(encoding="utf-8")
    return text.replace("<!-- shapes -->", str(shapes()))


def site_of(games: dict[str, Any], *, server: bool = True) -> dict[str, Any]:
    """Return what the page needs to know before anything else."""
    return {"server": server, "games": [game_of(spec) for spec in games.values()], "level": DEFAULT_LEVEL}


class Guard:
    """Asks for the token and for the origin of the page itself; adds the headers to what is answered."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, see ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        asked, token = HTTPConnection(scope), self._token
        host = asked.headers.get("host", "")
        port = host.rpartition(":")[2]  # servers on other ports share the cookies of a host
        cookie = f"ckai-board-{port}" if port.isdigit() else "ckai-board"

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                named = re.fullmatch(r"[A-Za-z0-9.:\[\]-]{1,300}", host)
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers["content-security-policy"] = POLICY + (f" ws://{host}" if named else "")
                if token is not None and message["status"] < 400:
                    headers["set-cookie"] = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
            await send(message)

        given = (asked.query_params.get("token", ""), asked.cookies.get(cookie, ""))
        known = token is None or any(secrets.compare_digest(each.encode(), token.encode()) for each in given)
        own = asked.headers.get("origin", "").lower() in (f"http://{host}".lower(), f"https://{host}".lower())
        answer: Any = self._app
        if not known:
            answer = "expected the token of the address that `ckai board` printed, found none or another\n"
        elif not own and (scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")):
            answer = "expected a request from the page itself, found another origin\n"
        if isinstance(answer, str):
            answer = PlainTextResponse(answer, 403)
        await answer(scope, receive, sent)
