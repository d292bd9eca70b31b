"""Who may speak to the server: checks of host, origin and token before anything else sees a request."""

import http.cookies
import re
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names of this machine by which only this machine can be reached."""
_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?")


def headers_for(host: str) -> dict[str, str]:
    """Return the headers of every answer: nothing but the page's own files may be loaded or run."""
    policy = {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": f"'self' ws://{host}",
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


@dataclass(frozen=True)
class AccessPolicy:
    """What a request needs to be let in.

    Attributes:
        token: that the address or the cookie must have; None: none, and then only requests to a name of this
            machine itself are let in, against DNS rebinding.
    """

    token: str | None = None

    def refusal(self, scope: Scope) -> str | None:
        """Return why a request is refused, or None."""
        host = header(scope, "host")
        if not _HOST.fullmatch(host):
            return "expected a Host header, found none that can be read"
        name = re.sub(r":\d+$", "", host).lower()
        if self.token is None and name not in LOOPBACK:
            return f"expected a request to {', '.join(LOOPBACK)}, found {name}"
        if self.token is not None and not self._has_token(scope, host):
            return "expected the token of the address that `ckai board` printed, found none or another"
        if scope["type"] == "websocket":
            origin = urlsplit(header(scope, "origin"))
            if origin.scheme not in ("http", "https") or origin.netloc.lower() != host.lower():
                return "expected a connection from the page itself, found another origin"
        return None

    def _has_token(self, scope: Scope, host: str) -> bool:
        assert self.token is not None
        asked = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        cookies: http.cookies.SimpleCookie = http.cookies.SimpleCookie()
        try:
            cookies.load(header(scope, "cookie"))
        except http.cookies.CookieError:
            cookies.clear()
        kept = cookies.get(cookie_name(host))
        given = [*asked, *([kept.value] if kept is not None else [])]
        return any(secrets.compare_digest(each.encode(), self.token.encode()) for each in given)


def cookie_name(host: str) -> str:
    """Return the name of the cookie with the token: servers on other ports share the cookies of a host."""
    port = host.rpartition(":")[2]
    return f"ckai-board-{port}" if port.isdigit() else "ckai-board"


def header(scope: Scope, name: str) -> str:
    """Return a header of a request, empty if there is none."""
    found = [value for key, value in scope.get("headers", []) if key == name.encode()]
    return found[0].decode("latin-1") if found else ""


class Guard:
    """Refuses requests before the application sees them, and adds the headers to what it answers.

    Args:
        app: the application.
        door: what a request needs.
    """

    def __init__(self, app: App, door: AccessPolicy) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, see ASGI."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._door.refusal(scope)
        if scope["type"] == "websocket":
            if refusal is not None:
                await receive()
                await send({"type": "websocket.close", "code": 4001, "reason": refusal})
                return
            await self._app(scope, receive, send)
            return
        host = header(scope, "host")
        fixed = headers_for(host if _HOST.fullmatch(host) else "localhost")
        more = [(name.lower().encode(), value.encode()) for name, value in fixed.items()]
        if refusal is not None:
            text = f"{refusal}\n".encode()
            more += [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(text))]
            await send({"type": "http.response.start", "status": 403, "headers": more})
            await send({"type": "http.response.body", "body": text})
            return
        if self._door.token is not None:
            cookie = f"{cookie_name(host)}={self._door.token}; Path=/; HttpOnly; SameSite=Strict"
            more.append((b"set-cookie", cookie.encode()))

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *more]}
            await send(message)

        await self._app(scope, receive, sent)
