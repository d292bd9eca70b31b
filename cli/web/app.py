"""The application: the page, its files, the WebSocket of its requests, and who may make them."""

import secrets
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from ckai.cli.pages.board import definitions
from ckai.cli.web.connection import Connection
from ckai.cli.web.rules import all_games, game_of
from ckai.cli.web.server import Server
from ckai.models.pretrained import CKAI, HUMAN
from ckai.rl.engine.text import DEFAULT_LEVEL
from ckai.rl.games.spec import GameSpec

LOOPBACK = ("127.0.0.1", "localhost", "[::1]", "::1")
"""Names of this machine by which only this machine can be reached."""
STATIC = ("ckai.cli.web", "ckai.cli.pages")
"""Packages whose folders `static` have the files of the page."""
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'"
)
"""Nothing but the page's own files may be loaded or run."""
HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
    "Content-Security-Policy": POLICY,
}


def make_app(server: Server, token: str | None = None) -> Starlette:
    """Return the application.

    Args:
        server: what requests share; opened and closed with the application.
        token: that the address or the cookie of a request must have; None: none, and then only requests to a
            name of this machine itself are let in, against DNS rebinding.
    """
    index, site = page_text(), site_of(all_games())
    hosts = LOOPBACK if token is None else ("*",)
    return Starlette(
        routes=[
            Route("/", lambda request: HTMLResponse(index)),
            Route("/site.json", lambda request: JSONResponse(site)),
            Route("/networks/{name}", lambda request: _network(request.path_params["name"])),
            Mount("/static", StaticFiles(packages=[(package, "static") for package in STATIC])),
            WebSocketRoute("/ws", lambda socket: Connection(socket, server).run()),
        ],
        middleware=[
            Middleware(Guard, token=token),
            Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False),
        ],
        lifespan=lambda app: server,
    )


def _network(name: str) -> Response:
    """Return an installed network for the page's own engine."""
    from ckai.cli.web.engine_file import engine_file

    return Response(engine_file(name)) if name in (CKAI, HUMAN) else Response(status_code=404)


def page_text() -> str:
    """Return the page."""
    text = (files(STATIC[0]) / "static" / "index.html").read_text(encoding="utf-8")
    return text.replace("<!-- shapes -->", str(definitions()))


def site_of(games: list[GameSpec], *, server: bool = True) -> dict[str, Any]:
    """Return what the page needs to know before anything else."""
    return {"server": server, "games": [game_of(spec) for spec in games], "level": DEFAULT_LEVEL}


class Guard:
    """Asks for the token and, of a WebSocket, for the origin of the page itself; adds headers to answers."""

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
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if token is not None and message["status"] < 400:
                    headers["set-cookie"] = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
            await send(message)

        given = (asked.query_params.get("token", ""), asked.cookies.get(cookie, ""))
        known = token is None or any(secrets.compare_digest(each.encode(), token.encode()) for each in given)
        own = asked.headers.get("origin", "").lower() in (f"http://{host}".lower(), f"https://{host}".lower())
        answer: Any = self._app
        if not known:
            text = "expected the token of the address that `ckai board` printed, found none or another\n"
            answer = PlainTextResponse(text, 403)
        if scope["type"] == "websocket" and not (known and own):
            answer = WebSocketClose()  # 403; uvicorn logs an error after an answer with a text
        await answer(scope, receive, sent)
