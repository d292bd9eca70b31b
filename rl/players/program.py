"""Another program, driven by lines of text on its standard input and output."""

import queue
import shlex
import subprocess
import threading
import time
from contextlib import suppress
from enum import StrEnum
from typing import ClassVar

from ckai.models.inference.threads import JoinableThread

START_SECONDS = 30.0
"""Time limit for a program to say who it is."""
SPARE_SECONDS = 30.0
"""Time beyond a limit of seconds after which a program times out."""
END_SECONDS = 1.0
"""Longest wait for the last words and the status of a program that has closed its output."""
MAX_LINE, MAX_LINES = 1 << 16, 1_000
"""Most characters of a line, and most lines that wait to be read."""
MAX_ERROR_TEXT = 300
"""Most characters of a standard-error line quoted in a message."""


class Fault(StrEnum):
    """How a program failed, for the `Outcome` of the game that it lost by it."""

    CRASH = "program crashed"
    SILENCE = "no answer in time"
    ILLEGAL = "illegal move"
    PROTOCOL = "protocol violated"


class ProgramError(RuntimeError):
    """A program cannot be started or violates its protocol; says what was expected and found."""

    def __init__(self, text: str, fault: Fault = Fault.PROTOCOL) -> None:
        super().__init__(text)
        self.fault = fault


class Program:
    """A running program; its protocol derives from this.

    Attributes:
        command: its command line.
        error: what is raised.
    """

    error: ClassVar[type[ProgramError]] = ProgramError

    def __init__(self, command: str) -> None:
        """Start a program.

        Args:
            command: command line, as for a shell.

        Raises:
            ProgramError: it cannot be started.
        """
        self.command = command
        try:
            words = shlex.split(command)
            if not words:
                raise ValueError("the command is empty")
            self._process: subprocess.Popen[str] = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                bufsize=1,
            )
        except (OSError, ValueError) as error:
            raise self.error(
                f"{command}: expected a program, found none that can be started "
                f"({getattr(error, 'strerror', None) or error}); check the command",
                Fault.CRASH,
            ) from error
        self._lines: queue.Queue[str | None] = queue.Queue(MAX_LINES)
        self._last_error = ""
        """The last line on its standard error."""
        self._errors = JoinableThread(target=self._read_errors, daemon=True)
        for reader in (JoinableThread(target=self._read, daemon=True), self._errors):
            reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        while line := self._process.stdout.readline(MAX_LINE):
            self._put(line)
        self._put(None)

    def _put(self, line: str | None) -> None:
        """Keep a line until it is read, in place of the oldest one if nobody reads them."""
        while True:
            try:
                self._lines.put_nowait(line)
                return
            except queue.Full:
                with suppress(queue.Empty):
                    self._lines.get_nowait()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        while line := self._process.stderr.readline(MAX_LINE):
            self._last_error = line.strip()[:MAX_ERROR_TEXT] or self._last_error

    def _end(self) -> str:
        """Say how the program ended."""
        self._errors.join(END_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        status = self._process.returncode
        text = "found that it has ended" + ("" if status is None else f" with status {status}")
        return f"{text}: {self._last_error}" if self._last_error else text

    def send(self, line: str) -> None:
        """Send a line.

        Raises:
            ProgramError: the program has ended.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self.error(
                f"{self.command}: expected a running program, {self._end()}", Fault.CRASH
            ) from error

    def next_line(self, until: float, wanted: str) -> str:
        """Return the next line.

        Args:
            until: time of `time.monotonic` at which the program times out.
            wanted: what is waited for, for messages.

        Raises:
            ProgramError: the program has ended, or sends no line in time.
        """
        try:
            seconds = min(until - time.monotonic(), threading.TIMEOUT_MAX)
            if seconds < 0:  # however many lines it sends
                raise queue.Empty
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise self.error(
                f"{self.command}: expected {wanted!r}, found no answer in time", Fault.SILENCE
            ) from None
        if line is None:
            raise self.error(f"{self.command}: expected {wanted!r}, {self._end()}", Fault.CRASH)
        return line

    def close(self) -> None:
        """Ask the program to quit, and kill it if it does not."""
        try:
            self.send("quit")
            self._process.wait(2)
        except (ProgramError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
