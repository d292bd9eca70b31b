"""Results on standard output, messages on standard error; `ckai.cli.shared.console` has what needs `rich`."""

import json
import math
from collections.abc import Mapping
from typing import Any

import click


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
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(each) for key, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value


def error_text(error: BaseException) -> str:
    """Return an error as one line."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror and type(error).__str__ is OSError.__str__:
        text = error.strerror
        if error.filename:
            text = f"{error.filename}: {text}; check the path and its permissions"
    return " ".join(text.split()) or type(error).__name__


def time_text(seconds: float) -> str:
    """Format a duration in round figures: `40 s`, `12 minutes`, `5 hours`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"


def count_text(number: int, singular: str, plural: str | None = None) -> str:
    """Format a count with its noun: `1 game`, `1,200 games`, `2 plies`; the usual plural ends in s."""
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
