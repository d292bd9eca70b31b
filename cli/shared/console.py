"""The console of tables and boards."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment
from rich.table import Table

from ckai.game.text import printable


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
