"""Serving other programs: one conversation on two files, lines in, lines out, and nothing else."""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, BinaryIO

from ckai.rl.engine.base import Engine

MAX_LINE = 1 << 20
"""Most characters of a line; a game of 1,000 moves has about 10,000."""


class Session(ABC):
    """One conversation; nothing ends it but `quit`.

    Args:
        load: loads the engine for what the session knows; its errors are answered.
        write: sends a line; called from several threads, one at a time.
    """

    def __init__(self, load: Callable[[Any], Engine], write: Callable[[str], None]) -> None:
        self._load, self._send = load, write
        self._engine: Engine | None = None

    @abstractmethod
    def handle(self, line: str) -> bool:
        """Answer one line; return whether the conversation continues."""

    def close(self) -> None:
        """Release the engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def serve_lines(source: BinaryIO, output: int, make: Callable[[Callable[[str], None]], Session]) -> None:
    """Answer lines until the conversation or the input ends.

    Args:
        source: lines of the other side, in UTF-8; other bytes are replaced.
        output: file descriptor of the answers; once nobody reads it, the conversation ends.
        make: begins the conversation, given a function that sends a line.
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
        while not closed and (line := source.readline(MAX_LINE + 2)):
            text = line.decode(errors="replace")
            while line and not line.endswith(b"\n"):  # drop the rest of a line that is too long
                line = source.readline(MAX_LINE)
            if not session.handle(text):
                break
    finally:
        closed = True
        session.close()


def claim_output() -> int:
    """Return a file descriptor of standard output that nothing else writes to, until the program ends.

    From now on whatever is written to standard output, by a library in C too, appears on standard error.
    """
    output = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return output
