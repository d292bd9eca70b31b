"""The console of tables and boards."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ckai.game.text import printable

PIPE_COLUMNS = 200
"""Width of tables that are not printed to a terminal."""


class CleanConsole(Console):
    """A console that shows what strangers wrote, and does not let the terminal obey it."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render an object to segments, the text of each made printable."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def make_table(*titles: str, left: int = 1, **style: Any) -> Table:
    """Return a table without lines.

    Args:
        titles: of the columns.
        left: columns of text, the first ones, which are folded on a narrow screen; the others have numbers.
        **style: see `Table`.
    """
    table = Table(box=None, pad_edge=False, **style)
    for n, title in enumerate(titles):
        table.add_column(title, justify="left" if n < left else "right", no_wrap=n >= left, overflow="fold")
    return table


def rows_table(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, tuple[str, str]], left: int = 1, **style: Any
) -> Table:
    """Return a table of dicts, as `--json` prints them.

    Args:
        rows: the dicts; None, and a name that is missing, are empty cells.
        columns: the title and the format of each name that is shown.
        left: columns of text, see `make_table`.
        **style: see `Table`.
    """
    table = make_table(*(title for title, _ in columns.values()), left=left, **style)
    for row in rows:
        cells = ((row.get(name), form) for name, (_, form) in columns.items())
        # `Text`, as there is no markup in what comes from files.
        table.add_row(*(Text("" if value is None else format(value, form)) for value, form in cells))
    return table


def print_table(table: Table) -> None:
    """Print a table on standard output."""
    width = None if sys.stdout.isatty() else PIPE_COLUMNS
    CleanConsole(highlight=False, width=width).print(table)
