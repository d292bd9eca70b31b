"""The messages of the page as text, and what is wrong with one as a line for people."""

import json
from typing import Any, NamedTuple

from pydantic import ValidationError

from ckai.cli.playing.record import error_text

MAX_CHARACTERS = 64 * 1024
"""Largest message in characters, but for a `load`."""
MAX_ID = 2**53
"""Largest number of a message: what JavaScript can count."""


class MessageError(ValueError):
    """A text is no message; one line that says what was expected and found.

    Attributes:
        id: number of the message, None if it has none that can be read.
    """

    def __init__(self, text: str, number: int | None = None) -> None:
        super().__init__(text)
        self.id = number


class Message(NamedTuple):
    """A message of the page."""

    type: str
    id: int | None
    """Its number, which the answer has too; None if it has none that can be read."""
    fields: dict[str, Any]


def read_message(text: str) -> Message:
    """Read a message; its fields are checked by its action.

    Raises:
        MessageError: it is too large, or no JSON object with a type.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    kind = data.pop("type", None) if isinstance(data, dict) else None
    if not isinstance(kind, str):
        raise MessageError(f"expected a message as JSON, found {text[:60]!r}")
    number = data.pop("id", None)
    if not (type(number) is int and 0 <= number <= MAX_ID):
        number = None
    if len(text) > MAX_CHARACTERS and kind != "load":
        found = f"{kind[:60]}: expected at most {MAX_CHARACTERS:,} characters, found {len(text):,}"
        raise MessageError(found, number)
    return Message(kind, number, data)


def refusal(error: Exception) -> str:
    """Return an error as one line; of wrong fields, what is wrong with the first one."""
    text = error_text(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        found = "" if first["type"].startswith("missing") else f", found {str(first['input'])[:60]!r}"
        text = f"{'.'.join(map(str, first['loc']))}: {first['msg'][0].lower()}{first['msg'][1:]}{found}"
    return " ".join(text.split()) or type(error).__name__
