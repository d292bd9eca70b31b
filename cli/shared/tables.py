"""The `--tables` option: choose endgame tablebases, and build missing ones."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ckai.cli.shared.output import count_text, progress_bar, report_compilation, stderr_console, time_text
from ckai.datasets.machine import available_cores

if TYPE_CHECKING:
    from ckai.datasets.tables import Tables
    from ckai.rl.games.spec import GameSpec

TABLE_CHOICES = ("auto", "none", "2", "3", "4", "5", "6")
"""Choices of `--tables`."""

tables_option: Callable[[Any], Any] = click.option(
    "--tables",
    type=click.Choice(TABLE_CHOICES),
    default="auto",
    show_default=True,
    help="Use N-piece tablebases, building them if missing; auto: the largest that exist, at least 3 pieces.",
)
"""`--tables`; pass the value to `open_tables`."""


def open_tables(which: str) -> "Tables | None":
    """Open the tables that `--tables` selects, building them if missing.

    Args:
        which: `none`, `auto` or a number of pieces.

    Returns:
        The tables; None for `none`.

    Raises:
        ValueError: the file is damaged.
    """
    from ckai.datasets.tables import Tables

    if which == "none":
        return None
    if which == "auto":
        return Tables.open()
    ensure_tables(int(which))
    return Tables.open(int(which))


def check_tables(which: str, spec: "GameSpec") -> None:
    """Refuse a number of pieces for a game without tables.

    Raises:
        click.BadParameter: `--tables` makes no sense for the game.
    """
    if not spec.supports_tables and which not in ("auto", "none"):
        raise click.BadParameter(
            f"expected auto or none for {spec.name}, which has no tablebases, found {which}",
            param_hint="--tables",
        )


def ensure_tables(pieces: int) -> None:
    """Build the tables for `pieces` pieces in the user's cache folder if missing."""
    from ckai.datasets.machine import cache_folder
    from ckai.datasets.tables import SHIPPED, table_path

    if pieces > SHIPPED and not table_path(pieces, cache_folder()).exists():
        build_with_progress(pieces, table_path(pieces, cache_folder()))


def build_with_progress(pieces: int, path: Path) -> dict[str, Any]:
    """Build tables with a progress bar, after printing how long it takes, roughly.

    Args:
        pieces: largest number of pieces.
        path: file to write.

    Returns:
        The header of the file.
    """
    from ckai.datasets.tables import RATE, build_tables, make_layout

    report_compilation()
    threads = available_cores()
    positions = make_layout(pieces).positions
    stderr_console().print(
        f"building tablebases for up to {pieces} pieces, {positions:,} positions and as many bytes, in "
        f"{path}: about {time_text(positions / RATE / threads)} on {count_text(threads, 'thread')}"
    )
    with progress_bar("solving", "positions") as progress:
        return build_tables(pieces, path, threads=threads, progress=progress)
