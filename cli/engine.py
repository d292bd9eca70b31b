"""`ckai engine`: play and analyse for other programs, by the Hub protocol."""

import signal
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.networks import EVALUATORS, evaluator_option
from ckai.cli.shared.output import report_compilation
from ckai.cli.shared.tables import TABLE_CHOICES, open_tables, tables_option
from ckai.models.pretrained import CKAI

if TYPE_CHECKING:
    from ckai.rl.hub.parameters import Parameters
    from ckai.rl.thinkers.thinker import Thinker

_HELP = """Play and analyse for other programs, which start it and speak Hub with it.

Hub (version 2) is the text protocol of draughts programs; this is its variant english. Lines come from
standard input, answers go to standard output, messages to standard error. The engine is a player of
`ckai match`: a network, searched by a tree; `alphabeta:NETWORK`; a level; or `alphabeta`, by material. A
limit after @ holds for searches whose `level` says nothing.

\b
Examples:
ckai engine
ckai engine --engine level:4
ckai engine --engine alphabeta:ckai --tables 4
ckai match hub:"ckai engine"@60s+0.6s level:8
"""


@click.command("engine", help=_HELP)
@click.option(
    "--engine",
    "spec",
    metavar="SPEC",
    default=CKAI,
    show_default=True,
    help="Player, as in `ckai match`; the parameter `engine` of the protocol.",
)
@evaluator_option()
@tables_option
def command(spec: str, evaluator: str, tables: str) -> None:
    """Serve standard input and output, see `_HELP`."""
    from ckai.rl.hub.serving import claim_output, serve

    output = claim_output()
    signal.signal(signal.SIGTERM, _end)
    from ckai.rl.hub.parameters import Parameters

    if spec != CKAI:
        _check(spec)
    evaluators = tuple(dict.fromkeys([*EVALUATORS, evaluator]))
    parameters = Parameters(spec, tables, evaluator, TABLE_CHOICES, evaluators)
    report_compilation()
    if sys.stdin is not None:
        serve(sys.stdin.buffer, output, parameters, _load, version("ckai"))


def _end(number: int, frame: Any) -> None:
    sys.exit(128 + number)


def _check(spec: str) -> None:
    """Raise the error of a spec that names no player before the other side waits for it."""
    from ckai.rl.thinkers.loading import check_spec

    check_spec(spec)


def _load(parameters: "Parameters") -> "Thinker":
    from ckai.rl.thinkers.loading import load_thinker

    return load_thinker(
        parameters.engine, backend=parameters.evaluator, tables=open_tables(parameters.tables)
    )
