"""Endgame tables for the commands that use them: which ones, and building those that are not there."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.output import progress_bar, report_compiling, talk, time_text

if TYPE_CHECKING:
    from ckai.datasets.tables import Tables

tables_option: Callable[[Any], Any] = click.option(
    "--tables",
    type=click.Choice(["auto", "none", "2", "3", "4", "5", "6"]),
    default="auto",
    show_default=True,
    help="Endgames that are known: of so many pieces, built first if they are not there; auto: the most that "
    "are there, at least 3.",
)
"""`--tables`, to be given to `chosen_tables`."""


def chosen_tables(which: str) -> "Tables | None":
    """The tables of `--tables`, built if they are missing.

    Raises:
        TableError: the file is damaged.
    """
    from ckai.datasets.tables import Tables

    if which == "none":
        return None
    if which == "auto":
        return Tables.open()
    make_sure_of(int(which))
    return Tables.open(int(which))


def make_sure_of(pieces: int) -> None:
    """Build the tables of so many pieces in the user's cache folder if there are none."""
    from ckai.datasets.tables import SHIPPED, cache_folder, table_path

    if pieces > SHIPPED and not table_path(pieces, cache_folder()).exists():
        build_shown(pieces, table_path(pieces, cache_folder()))


def build_shown(pieces: int, path: Path, threads: int | None = None) -> dict[str, Any]:
    """Build tables, saying before what it takes, with a progress bar. Returns the header."""
    from ckai.datasets.tables import build_tables, cost_of

    report_compiling()
    threads = threads or os.cpu_count() or 1
    cost = cost_of(pieces, threads)
    talk().print(
        f"endgames of {pieces} pieces or fewer, {cost.positions:,} positions: about "
        f"{time_text(cost.seconds)} on {threads} threads, {cost.memory / 2**20:,.0f} MiB of memory, "
        f"kept in {path}"
    )
    with progress_bar("solving", "positions") as show:
        return build_tables(pieces, path, threads=threads, progress=show)
