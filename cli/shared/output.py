"""What the commands share: the `--json` option, and where results and talk go.

Results go to standard output, progress and talk to standard error. `rich` is imported only when a screen is
asked for.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

json_option: Callable[[Any], Any] = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object."
)
"""`--json`, given to the command as `as_json`."""


def print_json(result: Mapping[str, Any]) -> None:
    """One JSON object on one line of standard output."""
    click.echo(json.dumps(result))


def time_text(seconds: float) -> str:
    """About how long: `40 s`, `12 minutes`."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} minutes"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 game`, `1,200 games`, `2 plies`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def report_compiling() -> None:
    """Say so on standard error, once, if kernels have to be compiled: that may take half a minute."""
    from numba.core import event

    class Teller(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, event: Any) -> None:
            if not self.told:
                self.told = True
                click.echo("compiling for this machine, this time only ...", err=True)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Teller())


def talk() -> "Console":
    """Where progress and talk go: standard error."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def progress_bar(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error for work that takes longer than a moment; nothing where that is no terminal.

    Yields:
        A function that is told how much is done, and how much there is in all.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    screen = talk()
    bar = Progress(
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeRemainingColumn(),
        console=screen,
        transient=True,
        disable=not screen.is_terminal,
    )
    task = bar.add_task("", total=None)
    begun = time.monotonic()
    started = False

    def show(done: int, total: int) -> None:
        nonlocal started
        if not started and time.monotonic() - begun > 0.5:
            bar.start()
            started = True
        bar.update(task, completed=done, total=total)

    try:
        yield show
    finally:
        if started:
            bar.stop()
