"""Tables, progress and messages, by `rich`."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from ckai.game.text import printable

LINE_SECONDS = 60.0
"""Least time between two lines of progress, so that a log of hours stays short."""
PIPE_COLUMNS = 400
"""Width of tables that are not printed to a terminal."""


class CleanConsole(Console):
    """A console that shows what strangers wrote, and does not let the terminal obey it."""

    def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
        """Render an object to segments, the text of each made printable."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))


def stderr_console() -> Console:
    """Return a console on standard error, for messages and progress."""
    return CleanConsole(stderr=True, highlight=False, markup=False, soft_wrap=True)


# --- tables -------------------------------------------------------------------------------------------------


def print_rows(
    rows: Iterable[Mapping[str, Any]], columns: Mapping[str, tuple[str, str]], left: int = 1
) -> None:
    """Print dicts, as `--json` has them, as a table on standard output.

    `columns` has the title and the format of each name that is shown; None, and a name that is missing, are
    empty cells. The first `left` columns have text, which is folded on a narrow screen.
    """
    table = Table(box=None, pad_edge=False)
    for n, (title, _) in enumerate(columns.values()):
        table.add_column(title, justify="left" if n < left else "right", no_wrap=n >= left, overflow="fold")
    for row in rows:
        cells = ((row.get(name), form) for name, (_, form) in columns.items())
        # `Text`, as there is no markup in what comes from files.
        table.add_row(
            *(Text("" if value is None else printable(format(value, form))) for value, form in cells)
        )
    CleanConsole(highlight=False, width=None if sys.stdout.isatty() else PIPE_COLUMNS).print(table)


def print_games(rows: list[dict[str, Any]], most: int | None = None) -> None:
    """Print a table of games, on a terminal of `most` at most."""
    shown = rows[:most] if sys.stdout.isatty() else rows
    names = ("game", "date", "black", "white", "result", "plies", "opening", "event")
    print_rows(shown, {name: (name, "") for name in names}, left=len(names))
    if len(shown) < len(rows):
        click.echo(f"and {len(rows) - len(shown):,} more: ask for less, or write them with -o")


# --- progress -----------------------------------------------------------------------------------------------


class ProgressBars(Progress):
    """Bars with a description, counts, a field `note` and the time left; on no terminal a line a minute."""

    def __init__(self, console: Console) -> None:
        columns = BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"), TimeRemainingColumn()
        name, hidden = TextColumn("{task.description}"), not console.is_terminal
        super().__init__(name, *columns, console=console, transient=True, disable=hidden)
        self._printed = time.monotonic()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """See rich's `Progress`."""
        super().update(task_id, **changes)
        if self.disable and "completed" in changes and time.monotonic() - self._printed >= LINE_SECONDS:
            self._printed, task = time.monotonic(), self._tasks[task_id]
            counts = f"{task.completed:,} of {task.total or 0:,}"
            self.console.print(f"{task.description}: {counts} {task.fields['note']}".rstrip())


@contextmanager
def progress_bar(label: str, unit: str, console: Console | None = None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error, or lines of text where that is no terminal.

    Yields a function to call with the amount done, the total and, if there is more to say, a text. `console`
    prints other messages above the bar.
    """
    with ProgressBars(console or stderr_console()) as bars:
        task = bars.add_task(label, total=None, note=unit)

        def update(done: int, total: int, detail: str = "") -> None:
            bars.update(task, completed=done, total=total, note=f"{unit}, {detail}" if detail else unit)

        yield update
