"""`ckai board`: the board in a browser."""

import gc
import os
import secrets
import socket
import sys
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path

import click

from ckai.cli.shared.options import PATH
from ckai.cli.shared.output import report_compilation
from ckai.rl.engine.text import forms_text

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_BYTES = 48 * 1024 * 1024
"""Largest message: a file of games of 8 MB, with what JSON adds."""

_HELP = """Play and analyse in a browser.

Opens a page that this machine serves to itself. Games are saved in games/, as those of `ckai play` are.
Ctrl-C ends the server.

\b
Examples:
  ckai board
  ckai board --engine "hub:PROGRAM@1s"
  ckai board --host 0.0.0.0
  ckai board --export site

SPEC is a player as in `ckai match`, WHO or WHO@LIMIT; levels and the networks in this folder are offered in
any case:

\b
{forms}
"""


@click.command("board", help=_HELP.format(forms=forms_text()))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; 0: a free one.  [default: 0]")
@click.option(
    "--host",
    default=LOOPBACK[0],
    show_default=True,
    help="Address to listen on; any but a loopback one requires the token in the printed URL.",
)
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser.  [default: browser]")
@click.option(
    "--export",
    "folder",
    type=PATH,
    metavar="FOLDER",
    help="Write the page as a static site, which plays and analyses checkers without a server, and end.",
)
@click.option("--engine", "engines", multiple=True, metavar="SPEC", help="Offer this player; repeatable.")
def command(port: int, host: str, browser: bool, folder: Path | None, engines: tuple[str, ...]) -> None:
    """Serve the board, see `_HELP`."""
    from ckai.models.inference.evaluator import import_extra

    uvicorn, *_ = (import_extra(package, "web") for package in ("uvicorn", "starlette", "websockets"))
    if folder is not None:
        from ckai.cli.web.export import export_site

        if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
            raise click.ClickException(f"{folder}: expected a new or an empty folder, found something in it")
        size = export_site(folder)
        served = f"any web server can serve it: python -m http.server -d {folder}"
        click.echo(f"{folder}: {size / 1e6:.1f} MB; {served}")
        return
    from ckai.cli.web.app import make_app
    from ckai.cli.web.server import Server

    report_compilation()
    token = None if host in LOOPBACK else secrets.token_urlsafe(16)
    listening = _listen(host, port)
    address = _address(host, listening.getsockname()[1], token)
    config = uvicorn.Config(
        make_app(Server(engines), token),
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MAX_BYTES,
        timeout_graceful_shutdown=2,
        lifespan="on",
    )
    click.echo(f"the board is at {address} (Ctrl-C ends it)")
    sys.stdout.flush()
    if browser:  # some browsers return only when they are closed
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    gc.freeze()  # what was imported stays: the collector would halt the searches to scan it
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listening])
    click.echo("stopped", err=True)
    sys.stderr.flush()
    os._exit(0)  # a search that compiles cannot be stopped


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens."""
    # With the protocol named, asyncio switches off the delay that gathers small packets.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    # To Windows REUSEADDR means that several may listen on one port.
    alone = getattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR)
    listening.setsockopt(socket.SOL_SOCKET, alone, 1)
    try:
        listening.bind((host, port))
        listening.listen()
    except OSError as error:
        raise click.ClickException(
            f"expected an address to listen on, found {host} port {port}: {error.strerror or error}; choose "
            "another with --host or --port"
        ) from error
    return listening


def _address(host: str, port: int, token: str | None) -> str:
    """Return the address of the page."""
    if host in ("0.0.0.0", "::"):
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={token}" if token else "")
