"""The `--ray` option."""

from collections.abc import Callable
from typing import Any

import click

ray_option: Callable[[Any], Any] = click.option(
    "--ray",
    is_flag=False,
    flag_value="auto",
    metavar="[ADDRESS]",
    help="Play on a Ray cluster: the one that runs on this machine (auto, the default of ADDRESS), one at "
    "HOST:PORT, or one that is started for this command (local).",
)
"""`--ray`; pass the value to `ckai.rl.leases.cluster.connect`."""
