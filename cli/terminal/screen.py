"""Input and output of a game in the terminal: lines in, clean text out."""

import math
import os
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
from ckai.rl.engine.base import Analysis
from ckai.rl.engine.result import SearchResult

TWICE_SECONDS = 1.0
"""Time within which a second Ctrl-C leaves the game."""


class FlagFallError(Exception):
    """The time of the player at the prompt is up."""


def make_console() -> Console:
    """Create the console of a game, on standard output."""
    return CleanConsole(highlight=False, markup=False, emoji=False)


def wait_for(work: Callable[[], SearchResult], stop: Callable[[], None]) -> SearchResult:
    """Wait for a search; Ctrl-C means "move now", and a second one within a second leaves the game.

    Args:
        work: the search.
        stop: makes it return soon, also if it has only begun.

    Raises:
        KeyboardInterrupt: a second Ctrl-C within `TWICE_SECONDS`; the search was stopped.
        Exception: whatever `work` raised.
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
    """A console with a prompt."""

    def __init__(self, console: Console, lines: TextIO) -> None:
        """Take over a console.

        Args:
            console: output.
            lines: input; if it is the terminal, lines can be edited.
        """
        self.console, self.lines = console, lines

    def print(self, text: str | Text = "", *, wrap: bool = True) -> None:
        """Print a line, wrapped between words unless `wrap` is False."""
        self.console.print(text, soft_wrap=not wrap)

    def ask(self, prompt: str, seconds: float | None = None) -> str | None:
        """Read a line.

        Args:
            prompt: text before the input.
            seconds: time for it; None: no limit.

        Returns:
            The line; None at the end of input.

        Raises:
            FlagFallError: the time is over.
        """
        with _alarm(seconds):
            return self._ask(printable(prompt))

    def _ask(self, prompt: str) -> str | None:
        if self.lines is sys.stdin and self.lines.isatty() and self.console.is_terminal:
            with suppress(ImportError):
                import readline  # noqa: F401  (line editing and history)
            try:
                return input(prompt)
            except (EOFError, OSError):  # the end, or a terminal that is gone
                self.print("")
                return None
        self.console.print(prompt, end="")
        try:
            line = self.lines.readline()
        except OSError:
            line = ""
        # Echo input from a pipe, so that the transcript is readable.
        self.print(line.rstrip("\n")[:500])
        return line if line else None

    def confirm(self, question: str, seconds: float | None = None) -> bool:
        """Ask for a yes; anything else, and the end of input, is a no.

        Raises:
            FlagFallError: the time is over, see `ask`.
        """
        answer = self.ask(f"{question} [y/N] ", seconds)
        return answer is not None and answer.strip().lower() in ("y", "yes")


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


@contextmanager
def leaving_on_signals() -> Iterator[None]:
    """Make SIGHUP and SIGTERM leave the block as Ctrl-C does, with the usual exit status."""
    names = [name for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> NoReturn:
        if number != signal.SIGTERM:
            # Nobody reads what is still written.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(128 + number)

    before = {name: signal.signal(getattr(signal, name), leave) for name in names}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)
