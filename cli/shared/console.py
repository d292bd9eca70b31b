"""The console of tables and boards."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.segment import Segment

from ckai.game.text import printable


class CleanConsole(Console):
    """A console that shows what strangers wrote, and does not let the terminal obey it."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render an object to segments, the text of each made printable."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))
