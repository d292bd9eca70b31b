"""Lines of text to and from other programs: a program as an engine, and serving an engine to one."""

import math
import os
import queue
import shlex
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import IO, Any, BinaryIO

from ckai.game.text import printable
from ckai.models.inference.threads import JoinableThread
from ckai.rl.engine.base import Engine, Task
from ckai.rl.engine.limit import Limit
from ckai.rl.games.registry import DEFAULT_GAME
from ckai.rl.games.spec import GameSpec

SILENCE = 600.0
"""Seconds without a line after which a program without a limit of time times out."""
START_SECONDS, INIT_SECONDS = 30.0, 120.0
"""Time limits for a program to say who it is, and to get ready: it may have to load or compile much."""
SPARE_SECONDS = 30.0
"""Time beyond a limit of seconds, or after it was told to stop, after which a program times out."""
END_SECONDS = 2.0
"""Longest wait for the last words and the status of a program that has closed its output or shall quit."""
MAX_LINE, MAX_LINES = 1 << 16, 1_000
"""Most characters of a line (a game of 1,000 moves has 10,000), and lines kept to be read, the newest."""
SHOWN = 300
"""Most characters of a program's text that a message quotes."""


class Fault(StrEnum):
    """How a program failed, for the `Outcome` of the game that it lost by it."""

    CRASH = "program crashed"
    SILENCE = "no answer in time"
    ILLEGAL = "illegal move"
    PROTOCOL = "protocol violated"


class ProgramError(RuntimeError):
    """A program cannot be started or violates its protocol; one line says what was expected and found."""

    def __init__(self, text: str, fault: Fault = Fault.PROTOCOL) -> None:
        super().__init__(printable(text.replace("\n", " ")))
        self.fault = fault


class ProgramEngine(Engine):
    """Another program, started by a command as for a shell; a protocol derives from this.

    It is started again for the next move after it has failed, and is told of the whole game then. Its first
    twin takes over the program that runs. A ProgramError says that it does not get ready.
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
        self._stopped, self._known = math.inf, list[Any]()
        """When the search was told to stop; the first position and the moves of the game that it knows."""
        if self._process is None:
            self._start()

    @abstractmethod
    def _handshake(self) -> None:
        """Make a program that has begun ready."""

    def _start(self) -> None:
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        try:
            # Windows splits a command itself; to shlex its backslashes mean something else.
            command = self.command.strip() if sys.platform == "win32" else shlex.split(self.command)
            process = self._process = subprocess.Popen(
                command, bufsize=1, encoding="utf-8", errors="replace", **pipes
            )
        except (OSError, ValueError, IndexError) as error:
            why = getattr(error, "strerror", None) or error
            found = f"a program, found none that can be started ({why}); check the command"
            raise self._error(found, Fault.CRASH) from error
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._lines.queue = deque(maxlen=MAX_LINES)
        self._last_words = words = deque[str](maxlen=1)  # on its standard error

        def hear(line: str | None) -> None:
            if line and line.strip():
                words.append(line.strip()[:SHOWN])

        def read(source: IO[str], keep: Callable[[str | None], Any]) -> None:
            while line := source.readline(MAX_LINE):
                keep(line)
            keep(None)

        for args in ((process.stdout, self._lines.put), (process.stderr, hear)):
            self._reader = JoinableThread(target=read, args=args, daemon=True)
            self._reader.start()
        try:
            self._handshake()
        except BaseException:
            self._release()
            raise

    def _error(self, text: str, fault: Fault = Fault.PROTOCOL) -> ProgramError:
        return ProgramError(f"{self.command}: expected {text}", fault)

    def _new_moves(self, game: Any) -> tuple[Any, list[Any], bool]:
        """Return the position before the moves that the program does not know yet, these, and whether the
        game is a new one to it."""
        self._stopped = math.inf
        if self._process is None:
            self._known = []
            self._start()
        known, self._known = self._known, [game.positions[-1 - len(game.moves)].key, *game.moves]
        new = not known or self._known[: len(known)] != known
        unknown = self._known[1 if new else len(known) :]
        return game.positions[-1 - len(unknown)], unknown, new

    def _ended(self, wanted: str) -> ProgramError:
        """Return the error of a program that has ended."""
        assert self._process is not None
        self._reader.join(END_SECONDS)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        how = "" if (status := self._process.returncode) is None else f" with status {status}"
        words = "".join(f": {line}" for line in self._last_words)
        return self._error(f"{wanted}, found that it has ended{how}{words}", Fault.CRASH)

    def send(self, line: str) -> None:
        """Send a line; a ProgramError says that the program has ended."""
        stdin: Any = self._process and self._process.stdin
        try:
            stdin.write(line + "\n")
            stdin.flush()
        except OSError as error:
            raise self._ended("a running program") from error

    def next_line(self, until: float, wanted: str) -> str:
        """Return the next line, until a time of `time.monotonic`; a ProgramError says why there is none."""
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
            raise self._error(f"lines of less than {MAX_LINE:,} characters, found a longer: {line[:40]!r}")
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
        """Return when a program that has a limit and says nothing more times out, by `time.monotonic`."""
        if limit.seconds is None and limit.clock is None:
            return time.monotonic() + SILENCE
        return begun + SPARE_SECONDS + (limit.seconds or max(limit.clock or 0.0, 0.0))

    def _forget(self, game: Any = None) -> None:
        self._known = []

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


class Session(ABC):
    """One conversation; nothing ends it but `quit`. What `load` raises for an engine is answered."""

    def __init__(self, load: Callable[[Any], Engine], write: Callable[[str], Any]) -> None:
        self._load, self._send = load, write
        self._engine: Engine | None = None

    @abstractmethod
    def handle(self, line: str) -> bool:
        """Answer one line; return whether the conversation continues."""

    def close(self) -> None:
        """Release the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def serve_lines(source: BinaryIO, output: int, make: Callable[[Callable[[str], None]], Session]) -> None:
    """Answer the lines of a source until it or the conversation ends, or nobody reads the output any more.

    `make` begins the conversation, given what sends a line to `output`, a file descriptor.
    """
    closed = False

    def write(line: str) -> None:
        nonlocal closed
        data = f"{line}\n".encode(errors="replace")
        while data and not closed:
            try:
                data = data[os.write(output, data) :]
            except OSError:
                closed = True

    session = make(write)
    try:
        while not closed and (line := source.readline(MAX_LINE)):
            rest = line
            while rest and not rest.endswith(b"\n"):
                rest = source.readline(MAX_LINE)
            if not session.handle(line.decode(errors="replace")):
                break
    finally:
        closed = True
        session.close()
