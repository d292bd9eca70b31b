"""What the commands share: the `--json` option, and where results and talk go.

Results go to standard output, progress and talk to standard error. `rich` is imported only when a screen is
asked for.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object."
)
"""`--json`, given to the command as `as_json`."""


def print_json(result: Mapping[str, Any]) -> None:
    """One JSON object on one line of standard output."""
    click.echo(json.dumps(result))


def talk() -> "Console":
    """Where progress and talk go: standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)
