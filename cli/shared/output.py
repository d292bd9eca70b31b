"""Output of the commands: results on standard output, messages and progress on standard error.

`rich` is imported only when it is needed.
"""

import json
import math
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object."
)
"""`--json`, passed to the command as `as_json`."""

force_option: Callable[[Any], Any] = click.option("--force", is_flag=True, help="Replace an existing output.")
"""`--force`; pass the value to `ckai.datasets.files.refuse_to_replace`."""

LINE_SECONDS = 60.0
"""Least time between two lines of progress, so that a log of hours stays short."""


class CleanStream:
    """Standard output or error on which `ckai.game.text.printable` cleans all that is printed as text.

    What `rich` prints, with sequences of its own for the terminal, goes past it: see `CleanConsole`.
    """

    def __init__(self, stream: Any) -> None:
        self.rich_proxied_file = stream

    @property
    def encoding(self) -> str:
        """A name with which click does not replace the stream by another one."""
        name: str | None = self.rich_proxied_file.encoding
        return "utf-8" if name is None or "ascii" in name.lower() else name

    def write(self, text: str) -> int:
        """Write text without what a terminal obeys; tabs stay."""
        if not text.replace("\n", "").replace("\t", "").isprintable():
            from ckai.game.text import printable  # it loads the rules

            text = "\t".join(map(printable, text.split("\t")))
        written: int = self.rich_proxied_file.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def print_json(result: Mapping[str, Any]) -> None:
    """Print an object as JSON on one line of standard output; numbers that are not finite become null."""
    click.echo(json.dumps(_finite(result), allow_nan=False))


def _finite(value: Any) -> Any:
    """Return plain data in which None stands for numbers that JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def time_text(seconds: float) -> str:
    """Format a duration in round figures: `40 s`, `12 minutes`, `5 hours`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"


def count_text(number: int, singular: str, plural: str | None = None) -> str:
    """Format a count with its noun: `1 game`, `1,200 games`, `2 plies`.

    Args:
        number: the count.
        singular: the noun for 1.
        plural: the noun for other numbers; default: `singular` with an s.
    """
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"


def command_text(words: Sequence[str]) -> str:
    """Return words as a command line that the user's shell takes."""
    if sys.platform == "win32":
        from subprocess import list2cmdline

        return list2cmdline(words)
    return shlex.join(words)


def report_compilation() -> None:
    """Print a message on standard error, once, if Numba compiles kernels, which may take half a minute."""
    from ckai.game import compiling

    compiling.report_with(lambda text: click.echo(text, err=True))


def stderr_console() -> "Console":
    """Return a console on standard error, for messages and progress."""
    from ckai.cli.shared.console import CleanConsole

    return CleanConsole(stderr=True, highlight=False, soft_wrap=True)


class ProgressLines:
    """Prints the progress of one piece of work, at most once a minute; nothing on a terminal.

    Args:
        console: prints the lines.
        clock: time in seconds.
    """

    def __init__(self, console: "Console", clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._begun: tuple[float, float] | None = None
        """Time of the first update, and the amount done then: earlier work is not in the rate."""
        self._printed = 0.0

    def update(self, done: float, total: float, text: str) -> None:
        """Print a line if one is due.

        Args:
            done: amount done, in any unit.
            total: amount to do, in the same unit.
            text: what the line says before the time left.
        """
        if self._console.is_terminal:
            return
        now = self._clock()
        if self._begun is None:
            self._begun, self._printed = (now, done), now
        if now - self._printed < LINE_SECONDS:
            return
        self._printed = now
        begun, before = self._begun
        if before < done < total:
            text += f", about {time_text((now - begun) / (done - before) * (total - done))} left"
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def progress_bar(label: str, unit: str, console: "Console | None" = None) -> Iterator[Callable[..., None]]:
    """Show a progress bar on standard error, if the work takes more than half a second.

    Without a terminal it prints lines of text, see `ProgressLines`.

    Args:
        label: text before the bar.
        unit: text after the counts.
        console: prints other messages above the bar; None: there are none.

    Yields:
        A function to call with the amount done, the total and, if there is more to say, a text.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = console or stderr_console()
    bar = Progress(
        TextColumn(label),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task(unit, total=None)
    lines = ProgressLines(console)
    begun = time.monotonic()
    started = False

    def update(done: int, total: int, detail: str = "") -> None:
        nonlocal started
        if not started and time.monotonic() - begun > 0.5:
            bar.start()
            started = True
        text = f"{unit}, {detail}" if detail else unit
        bar.update(task, completed=done, total=total, description=text)
        lines.update(done, total, f"{label}: {done:,} of {total:,} {text}")

    try:
        yield update
    finally:
        if started:
            bar.stop()
