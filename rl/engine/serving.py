"""Serving one conversation on two files: lines in, lines out, and nothing else."""

import os
from collections.abc import Callable
from typing import BinaryIO, Protocol

from ckai.rl.engine.hub_text import MAX_LINE


class LineSession(Protocol):
    """One conversation by lines of text."""

    def handle(self, line: str) -> bool:
        """Answer one line; return whether the conversation goes on."""

    def close(self) -> None:
        """Release all resources."""


def serve_lines(source: BinaryIO, output: int, make: Callable[[Callable[[str], None]], LineSession]) -> None:
    """Answer lines until the conversation or the input ends.

    Args:
        source: lines of the other side, in UTF-8; other bytes are replaced.
        output: file descriptor of the answers; once nobody reads it, they are dropped.
        make: begins the conversation, given a function that sends a line.
    """
    closed = False

    def write(line: str) -> None:
        nonlocal closed
        data = f"{line}\n".encode(errors="replace")
        while data and not closed:
            try:
                data = data[os.write(output, data) :]
            except BrokenPipeError:
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
    """Return a file descriptor of standard output that nothing else writes to.

    From now on whatever is written to standard output, by a library in C too, appears on standard error. That
    holds until the program ends, as buffers may be written then.
    """
    output = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.close(null)
    return output
