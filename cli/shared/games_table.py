"""Games as a table: on a terminal to look at, else with tabs between the columns, for other programs."""

import sys
from collections.abc import Sequence
from typing import Any

import click

COLUMNS = ("game", "date", "black", "white", "result", "plies", "opening", "event")


def print_games(rows: Sequence[dict[str, Any]], most: int | None = None) -> None:
    """Print games.

    Args:
        rows: what is in each of `COLUMNS`; None or no entry: nothing.
        most: rows on a terminal, where the event is left out; None: all.
    """
    if not sys.stdout.isatty():
        for row in ({name: name for name in COLUMNS}, *rows):
            cells = ("" if (value := row.get(name)) is None else str(value) for name in COLUMNS)
            click.echo("\t".join(" ".join(cell.split()) for cell in cells))
        return
    from ckai.cli.shared.console import print_table, rows_table

    print_table(rows_table(rows[:most], {name: (name, "") for name in COLUMNS[:-1]}, left=len(COLUMNS)))
    if most is not None and len(rows) > most:
        click.echo(f"and {len(rows) - most:,} more: ask for less, or write them with -o")
