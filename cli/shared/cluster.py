"""The `--ray` option."""

from collections.abc import Callable
from typing import Any

import click

ray_option: Callable[[Any], Any] = click.option(
    "--ray",
    is_flag=False,
    flag_value="auto",
    metavar="[ADDRESS]",
    help="Play on a Ray cluster: that of this machine, one at HOST:PORT, or `local`, one for this command.",
)
"""`--ray`; pass the value to `ckai.rl.leases.cluster.connect`."""
