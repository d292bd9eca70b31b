"""`ckai engine`: play and analyse for other programs, by the Hub protocol or by GTP."""

import os
import signal
import sys
from functools import partial
from typing import Any

import click

from ckai.cli.shared.options import open_tables, tables_option
from ckai.models.pretrained import CKAI
from ckai.rl.engine.limit import HUB, EngineText

GTP_PLAYER = "rollout@1000"
"""The player of Go programs: no network is installed for them."""
_HELP = """Play and analyse for other programs through the Hub or GTP protocol.

Hub (version 2) is the text protocol of draughts programs; ckai supports the variant english. Commands come
from standard input, answers go to standard output, messages to standard error. The engine is a player of
`ckai match`: a network with tree search; `alphabeta:NETWORK`; a level; or `alphabeta`, by material. Its
@LIMIT applies when the other program sends no `level`.

With `--protocol gtp`, ckai is a 9x9 Go engine (GTP version 2): area scoring, positional superko, no suicide.
Its players are those of `ckai match --game go`.

\b
Examples:
  ckai engine
  ckai engine --engine alphabeta:ckai --tables 4
  ckai match hub:"ckai engine"@60s+0.6s level:8
  ckai engine --protocol gtp --engine rollout@2000
"""


@click.command("engine", help=_HELP)
@click.option(
    "--engine",
    "spec",
    metavar="SPEC",
    help=f"Player, as in `ckai match`.  [default: {CKAI}, or {GTP_PLAYER} with GTP]",
)
@click.option(
    "--protocol",
    type=click.Choice(["hub", "gtp"]),
    default="hub",
    show_default=True,
    help="Protocol: hub for draughts programs, or gtp for Go.",
)
@tables_option
def command(spec: str | None, protocol: str, tables: str) -> None:
    """Serve standard input and output, see `_HELP`."""
    output = _claim_output()
    from ckai.rl.engine.program import serve_lines

    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    session = _gtp(spec or GTP_PLAYER, tables) if protocol == "gtp" else _hub(spec or CKAI, tables)
    if sys.stdin is not None:
        serve_lines(sys.stdin.buffer, output, session)


def _claim_output() -> int:
    """Return a file descriptor of standard output; whatever else is written there, by a library in C too,
    appears on standard error from now on."""
    output = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return output


def _gtp(spec: str, tables: str) -> Any:
    """Return what makes a session of an output."""
    from ckai.rl.engine.base import Engine
    from ckai.rl.engine.gtp import GtpSession
    from ckai.rl.engine.loading import check
    from ckai.rl.games.go import SPEC

    check(EngineText.read(spec), SPEC, clock=False)
    open_tables(tables, SPEC)  # says that there are none
    return partial(GtpSession, lambda game: Engine.load(spec, game=game))


def _hub(spec: str, tables: str) -> Any:
    """Return what makes a session of an output."""
    from ckai.rl.engine.base import Engine
    from ckai.rl.engine.loading import check
    from ckai.rl.engine.program import HubSession

    wanted = EngineText.read(spec)
    if wanted.kind == HUB:
        raise ValueError(f"{spec}: expected a player of ckai, found another program")
    check(wanted, clock=False)
    return partial(HubSession, lambda: Engine.load(spec, tables=open_tables(tables)))
