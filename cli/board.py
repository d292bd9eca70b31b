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
from ckai.rl.engine.limit import forms_text

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MAX_BYTES = 48 * 1024 * 1024
"""Largest message: a file of games of 8 MB, with what JSON adds."""

_HELP = """Play and analyse in a browser.

Opens a page that this machine serves to itself. Games are saved in games/, as with `ckai play`.
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
    help="Address to listen on; any but a loopback one puts a token into the URL.",
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

    token = "" if host in LOOPBACK else secrets.token_urlsafe(16)
    listening = _listen(host, port)
    name = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    address = f"http://{name}:{listening.getsockname()[1]}/" + (f"{token}/" if token else "")
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
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family)
    except OSError as error:
        raise click.ClickException(
            f"expected an address to listen on, found {host} port {port}: {error.strerror or error}; choose "
            "another with --host or --port"
        ) from error
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # small answers need not wait
    return listening
