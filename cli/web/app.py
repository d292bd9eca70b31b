"""The application: the page, its files, the WebSocket of its requests, and who may make them."""

from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from ckai.cli.pages.report import definitions
from ckai.cli.web.connection import Connection
from ckai.cli.web.rules import all_games, game_of
from ckai.cli.web.server import Server
from ckai.models.pretrained import CKAI, HUMAN
from ckai.rl.engine.limit import DEFAULT_LEVEL
from ckai.rl.games.registry import DEFAULT_GAME
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


def make_app(server: Server, token: str = "") -> Starlette:
    """Return the application.

    Args:
        server: what requests share; opened and closed with the application.
        token: with which the path of every address begins; empty: none, and then only requests to a name of
            this machine itself are let in, against DNS rebinding.
    """
    index, site = page_text(), site_of(all_games())
    routes = [
        Route("/", lambda request: HTMLResponse(index)),
        Route("/site.json", lambda request: JSONResponse(site)),
        Route("/networks/{name}", lambda request: _network(request.path_params["name"])),
        Mount("/static", StaticFiles(packages=[(package, "static") for package in STATIC])),
        WebSocketRoute("/ws", lambda socket: Connection(socket, server).run()),
    ]
    hosts = ("*",) if token else LOOPBACK
    return Starlette(
        routes=[Mount(f"/{token}", routes=routes)],
        middleware=[
            Middleware(Guard),
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
    shown = [game_of(spec) for spec in games]
    return {"server": server, "games": shown, "level": DEFAULT_LEVEL, "ballots": DEFAULT_GAME.ballot}


class Guard:
    """Adds headers to answers, and lets no page but its own open a WebSocket."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, see ASGI."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        if scope["type"] == "websocket":
            asked = Headers(scope=scope)
            host, origin = asked.get("host", ""), asked.get("origin", "")
            if origin.lower() not in (f"http://{host}".lower(), f"https://{host}".lower()):
                await WebSocketClose()(scope, receive, send)
                return
        await self._app(scope, receive, sent)
