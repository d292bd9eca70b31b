"""The application: the page, its files and the WebSocket."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from ckai.cli.pages.board import asset, shapes
from ckai.cli.web.connection import Connection
from ckai.cli.web.guard import AccessPolicy, App, Guard
from ckai.cli.web.server import Server

TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
"""Media types by the end of a file's name; files with other ends are not served."""
SHARED = ("palette.css", "board.css", "board.js")
"""Files of `ckai.cli.pages` that the page uses too."""
PAGE = "index.html"
MAX_SOCKETS = 64
"""Most tabs at once."""


def read_files() -> dict[str, tuple[bytes, str]]:
    """Return the content and the media type of every file that is served, by name."""
    texts = {name: asset(name) for name in SHARED}
    for file in (files("ckai.cli.web") / "static").iterdir():
        if file.is_file() and file.name[file.name.rfind(".") :] in TYPES:
            texts[file.name] = file.read_text(encoding="utf-8")
    texts[PAGE] = texts[PAGE].replace("<!-- shapes -->", str(shapes()))
    return {
        name: (text.encode(), f"{TYPES[name[name.rfind('.') :]]}; charset=utf-8")
        for name, text in texts.items()
    }


def make_app(make_server: Callable[[], Server], token: str | None = None) -> App:
    """Return the application.

    Args:
        make_server: makes the server, in the event loop.
        token: see `ckai.cli.web.guard.AccessPolicy`.
    """
    served = read_files()
    servers: list[Server] = []
    sockets: set[WebSocket] = set()

    def answer(name: str) -> Response:
        if name not in served:
            return Response("no such file\n", 404, media_type="text/plain")
        content, kind = served[name]
        return Response(content, media_type=kind)

    async def page(request: Request) -> Response:
        return answer(PAGE)

    async def static(request: Request) -> Response:
        return answer(request.path_params["name"])

    async def socket(socket: WebSocket) -> None:
        if len(sockets) >= MAX_SOCKETS:
            await socket.close(1013)
            return
        sockets.add(socket)
        try:
            await Connection(socket, servers[0]).run()
        finally:
            sockets.discard(socket)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        server = make_server()
        servers.append(server)
        server.open()
        try:
            yield
        finally:
            server.close()

    routes: list[Any] = [
        Route("/", page),
        Route("/static/{name}", static),
        WebSocketRoute("/ws", socket),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), AccessPolicy(token))
