"""Another program as an engine, driven by lines of text on its standard input and output."""

import math
import queue
import shlex
import subprocess
import sys
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import IO, Any

from ckai.game.text import printable
from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.base import Engine, Task
from ckai.rl.engine.limit import Limit
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

SILENCE: float = 600.0
"""Seconds without a line after which a program without a limit of time times out."""
START_SECONDS = 30.0
"""Time limit for a program to say who it is."""
INIT_SECONDS = 120.0
"""Time limit for a program to get ready: it may have to load or compile much."""
SPARE_SECONDS = 30.0
"""Time beyond a limit of seconds, or after it was told to stop, after which a program times out."""
END_SECONDS = 2.0
"""Longest wait for the last words and the status of a program that has closed its output or shall quit."""
MAX_LINE, MAX_LINES = 1 << 16, 1_000
"""Most characters of a line, and most lines that wait to be read: then the oldest go."""
MAX_ERROR_TEXT = 300
"""Most characters of a program's text that a message quotes."""


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

    It is started again for the next move after it has failed, and is told of the whole game then. Its first
    twin takes over the program that runs.

    Args:
        command: command line, as for a shell.
        spec: the game.

    Raises:
        ProgramError: the program cannot be started, or does not get ready in time.
    """

    takes = frozenset(("seconds", "clock"))
    by_time = True  # it has one game at a time, under any limit

    def __init__(self, command: str, *, spec: GameSpec = DEFAULT_GAME) -> None:
        super().__init__()
        self.command, self.spec = command, spec
        self._process: subprocess.Popen[str] | None = None
        self._open()

    def _open(self, of: Any = None) -> None:
        if of is not None:
            of._process = None
        self._stopped = math.inf
        """When the search was told to stop, by `time.monotonic`."""
        self._known: list[Any] | None = None
        """The first position and the moves of the game that it knows; None: none yet."""
        if self._process is None:
            self._start()

    @abstractmethod
    def _handshake(self) -> None:
        """Make a program that has begun ready."""

    def _start(self) -> None:
        try:
            # Windows splits a command itself; to shlex its backslashes mean something else.
            windows = sys.platform == "win32"
            if not (command := self.command.strip() if windows else shlex.split(self.command)):
                raise ValueError("the command is empty")
            pipe = subprocess.PIPE
            process = self._process = subprocess.Popen(
                command, bufsize=1, stdin=pipe, stdout=pipe, stderr=pipe, encoding="utf-8", errors="replace"
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            found = f"a program, found none that can be started ({why}); check the command"
            raise self._error(found, Fault.CRASH) from error
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._lines.queue = deque(maxlen=MAX_LINES)
        self._last_words = words = deque[str](maxlen=1)
        """The last line on its standard error."""

        def hear(line: str | None) -> None:
            words.extend([line.strip()[:MAX_ERROR_TEXT]] if line and line.strip() else [])

        for source, keep in ((process.stdout, self._lines.put), (process.stderr, hear)):
            self._reader = JoinableThread(target=_read, args=(source, keep), daemon=True)
            self._reader.start()
        try:
            self._handshake()
        except BaseException:
            self._release()
            raise

    def _error(self, text: str, fault: Fault = Fault.PROTOCOL) -> ProgramError:
        """Return the error of a program: what was expected and found."""
        return ProgramError(f"{self.command}: expected {text}", fault)

    def _new_moves(self, game: Any) -> tuple[Any, list[Any], bool]:
        """Return the moves of a game that the program does not know yet, the position before them, and
        whether the game is a new one to it."""
        known, self._stopped = self._known, math.inf
        if self._process is None:
            known = self._known = None
            self._start()
        moves = list(game.moves)
        line = [game.positions[-1 - len(moves)].key, *moves]
        new = known is None or line[: len(known)] != known
        self._known = line
        unknown = moves if new or known is None else line[len(known) :]
        return game.positions[-1 - len(unknown)], unknown, new

    def _ended(self, wanted: str) -> ProgramError:
        """Return the error of a program that has ended."""
        assert self._process is not None
        self._reader.join(END_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        status = self._process.returncode
        how = "" if status is None else f" with status {status}"
        words = "".join(f": {line}" for line in self._last_words)
        return self._error(f"{wanted}, found that it has ended{how}{words}", Fault.CRASH)

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
            raise self._ended("a running program") from error

    def next_line(self, until: float, wanted: str) -> str:
        """Return the next line.

        Args:
            until: time of `time.monotonic` at which the program times out.
            wanted: what is waited for, for messages.

        Raises:
            ProgramError: the program has ended, or sends no line in time, or one that is too long.
        """
        line: str | None = ""
        while line == "":  # sent by a stop
            seconds = min(until, self._stopped + SPARE_SECONDS) - time.monotonic()
            if seconds < 0:  # however many lines it sends
                raise self._error(f"{wanted!r}, found no answer in time", Fault.SILENCE)
            with suppress(queue.Empty):
                line = self._lines.get(timeout=seconds)
        if line is None:
            raise self._ended(repr(wanted))
        if len(line) >= MAX_LINE and not line.endswith("\n"):
            found = f"a longer one: {line[:40]!r}..."
            raise self._error(f"lines of less than {MAX_LINE:,} characters, found {found}")
        return line

    def _stop_with(self, task: Task, *lines: str) -> None:
        """Have a stop send some lines, and bound the time that the program takes then."""

        def stop() -> None:
            self._stopped = time.monotonic()
            self._lines.put("")
            with suppress(ProgramError):  # who waits for the answer learns of it
                for line in lines:
                    self.send(line)

        task.stop.attach(stop)

    def _until(self, limit: Limit, begun: float) -> float:
        """Return when a program times out that has a limit, by `time.monotonic`, if it says nothing more."""
        if limit.seconds is None and limit.clock is None:
            return time.monotonic() + SILENCE
        return begun + SPARE_SECONDS + (limit.seconds or max(limit.clock or 0.0, 0.0))

    def _forget(self, game: Any = None) -> None:
        self._known = None

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
        assert process.stdin is not None
        with suppress(OSError):  # what it did not read; later Python 3.13 would print an error about it
            process.stdin.close()
        self._process = None


def _read(source: IO[str], keep: Callable[[str | None], Any]) -> None:
    """Keep the lines of a program, then None."""
    while line := source.readline(MAX_LINE):
        keep(line)
    keep(None)
