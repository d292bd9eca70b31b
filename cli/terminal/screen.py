"""Input and output of a game in the terminal: lines in, clean text out."""

import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn, TextIO

from rich.console import Console
from rich.text import Text

from ckai.cli.shared.console import CleanConsole
from ckai.game.text import printable
from ckai.rl.engine.base import Analysis, SearchResult

TWICE_SECONDS = 1.0
"""Time within which a second Ctrl-C leaves the game."""


class FlagFallError(Exception):
    """The time of the player at the prompt is up."""


def make_console() -> Console:
    """Create the console of a game, on standard output."""
    return CleanConsole(highlight=False, markup=False, emoji=False)


def wait_for(work: Callable[[], SearchResult], stop: Callable[[], None]) -> SearchResult:
    """Wait for a search; Ctrl-C means "move now", and a second one within a second leaves the game.

    `stop` makes `work` return soon, also if it has only begun.
    """
    search, pressed = Analysis(lambda publish: work(), stop), -math.inf
    while True:
        try:
            return search.wait()
        except KeyboardInterrupt:
            search.stop()
            before, pressed = pressed, time.monotonic()
            if pressed - before <= TWICE_SECONDS:
                raise


class Screen:
    """A console with a prompt; `lines` is the input: if it is the terminal, lines can be edited."""

    def __init__(self, console: Console, lines: TextIO) -> None:
        self.console, self.lines = console, lines

    def print(self, text: str | Text = "", *, wrap: bool = True) -> None:
        """Print a line, wrapped between words unless `wrap` is False."""
        self.console.print(text, soft_wrap=not wrap)

    def ask(self, prompt: str, seconds: float | None = None) -> str | None:
        """Read a line; None at the end of input. A FlagFallError says that the time is over."""
        prompt = printable(prompt)
        with _alarm(seconds), suppress(EOFError, OSError):  # the end, or a terminal that is gone
            if self.lines is sys.stdin and self.lines.isatty() and self.console.is_terminal:
                with suppress(ImportError):
                    import readline  # noqa: F401  (line editing and history)
                return input(prompt)
            self.console.print(prompt, end="")
            line = self.lines.readline()
            # Echo input from a pipe, so that the transcript is readable.
            self.print(line.rstrip("\n")[:500])
            return line or None
        self.print("")
        return None


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """Raise a `FlagFallError` in the block when the time is over; Windows has no such timer."""
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or not main or sys.platform == "win32":
        yield
        return

    def ring(number: int, frame: FrameType | None) -> NoReturn:
        raise FlagFallError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
