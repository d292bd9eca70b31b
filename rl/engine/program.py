"""Another program, driven by lines of text on its standard input and output."""

import math
import queue
import shlex
import subprocess
import threading
import time
from abc import abstractmethod
from contextlib import suppress
from enum import StrEnum
from typing import IO, Any, Self

from ckai.game.text import printable
from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.base import Engine
from ckai.rl.engine.limit import Limit
from ckai.rl.engine.task import Task
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

SILENCE: float = 600.0
"""Seconds without a line after which a program without a limit of time times out."""

START_SECONDS = 30.0
"""Time limit for a program to say who it is."""
SPARE_SECONDS = 30.0
"""Time beyond a limit of seconds after which a program times out."""
END_SECONDS = 2.0
"""Longest wait for the last words and the status of a program that has closed its output or shall quit."""
MAX_LINE, MAX_LINES = 1 << 16, 1_000
"""Most characters of a line, and most lines that wait to be read."""
WAKE = ""
"""Stands for no line where who waits for one is to look at the time again."""
MAX_ERROR_TEXT = 300
"""Most characters of a standard-error line quoted in a message."""


class Fault(StrEnum):
    """How a program failed, for the `Outcome` of the game that it lost by it."""

    CRASH = "program crashed"
    SILENCE = "no answer in time"
    ILLEGAL = "illegal move"
    PROTOCOL = "protocol violated"


class ProgramError(RuntimeError):
    """A program cannot be started or violates its protocol; says what was expected and found in a line."""

    def __init__(self, text: str, fault: Fault = Fault.PROTOCOL) -> None:
        super().__init__(printable(text.replace("\n", " ")))
        self.fault = fault


class ProgramEngine(Engine):
    """Another program as an engine; its protocol derives from this.

    It is started again for the next move after it has failed, and is told of the whole game then.
    """

    default_limit = Limit()
    by_time = True  # it has one game at a time, under any limit

    def __init__(self, command: str, *, spec: GameSpec = DEFAULT_GAME, silence: float = SILENCE) -> None:
        """Start the program and wait until it is ready.

        Args:
            command: command line, as for a shell.
            spec: the game.
            silence: seconds without a line after which it times out where no limit of time holds.

        Raises:
            ProgramError: it cannot be started, or does not get ready in time.
        """
        super().__init__()
        self.command, self.spec, self._silence = command, spec, silence
        self._process: subprocess.Popen[str] | None = None
        self._stopped = math.inf
        """When the search was told to stop, by `time.monotonic`."""
        self._moves: list[Any] | None = None
        """The moves of the game that it knows; None: none yet."""
        self._first: Any = None
        self._start()

    def _copy(self) -> Self:
        return type(self)(self.command, spec=self.spec, silence=self._silence)

    @abstractmethod
    def _handshake(self) -> None:
        """Make a program that has begun ready."""

    def _start(self) -> None:
        if self._process is not None:
            return
        try:
            words = shlex.split(self.command)
            if not words:
                raise ValueError("the command is empty")
            self._process = subprocess.Popen(
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
            raise ProgramError(
                f"{self.command}: expected a program, found none that can be started "
                f"({getattr(error, 'strerror', None) or error}); check the command",
                Fault.CRASH,
            ) from error
        self._lines: queue.Queue[str | None] = queue.Queue(MAX_LINES)
        self._last_error = ""
        """The last line on its standard error."""
        self._errors = JoinableThread(target=self._read_errors, args=(self._process.stderr,), daemon=True)
        output = JoinableThread(target=self._read, args=(self._process.stdout, self._lines), daemon=True)
        for reader in (output, self._errors):
            reader.start()
        self._moves = None
        try:
            self._handshake()
        except BaseException:
            self._release()
            raise

    def _new_moves(self, game: Any) -> list[Any] | None:
        """Return the moves of a game that the program does not know yet; None: it does not know the game."""
        self._start()
        self._stopped = math.inf
        first, moves, known = game.positions[0].key, list(game.moves), self._moves
        continues = known is not None and self._first == first and moves[: len(known)] == known
        self._first, self._moves = first, moves
        return moves[len(known) :] if continues and known is not None else None

    @staticmethod
    def _read(source: IO[str], lines: "queue.Queue[str | None]") -> None:
        """Keep lines until they are read, in place of the oldest one if nobody reads them."""
        while True:
            line = source.readline(MAX_LINE) or None
            while True:
                try:
                    lines.put_nowait(line)
                    break
                except queue.Full:
                    with suppress(queue.Empty):
                        lines.get_nowait()
            if line is None:
                return

    def _read_errors(self, source: IO[str]) -> None:
        while line := source.readline(MAX_LINE):
            self._last_error = line.strip()[:MAX_ERROR_TEXT] or self._last_error

    def _end(self) -> str:
        """Say how the program ended."""
        assert self._process is not None
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
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError as error:
            raise ProgramError(
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
            line: str | None = WAKE
            while line == WAKE:
                seconds = min(until, self._stopped + SPARE_SECONDS) - time.monotonic()
                if seconds < 0:  # however many lines it sends
                    raise queue.Empty
                line = self._lines.get(timeout=min(seconds, threading.TIMEOUT_MAX))
        except queue.Empty:
            raise ProgramError(
                f"{self.command}: expected {wanted!r}, found no answer in time", Fault.SILENCE
            ) from None
        if line is None:
            raise ProgramError(f"{self.command}: expected {wanted!r}, {self._end()}", Fault.CRASH)
        return line

    def _stop_with(self, task: Task, *lines: str) -> None:
        """Have a stop send some lines, and bound the time that the program takes then."""

        def stop() -> None:
            self._stopped = time.monotonic()
            with suppress(ProgramError):  # who waits for the answer learns of it
                for line in lines:
                    self.send(line)
            with suppress(queue.Full):
                self._lines.put_nowait(WAKE)

        task.stop.attach(stop)

    def _forget(self) -> None:
        self._moves = None

    def _spoiled(self) -> None:
        self._release()

    def _release(self) -> None:
        """Ask the program to quit, and kill it if it does not."""
        process, self._stopped = self._process, math.inf
        if process is None:
            return
        try:
            self.send("quit")
            process.wait(END_SECONDS)
        except (ProgramError, subprocess.TimeoutExpired):
            process.kill()
            process.wait()
        self._process = None
