"""The messages of the page as text, and what is wrong with one as a line for people."""

import json
from typing import Any, NamedTuple

from pydantic import ValidationError

from ckai.cli.playing.record import error_text

MAX_CHARACTERS = 64 * 1024
"""Largest message in characters, but for a `load`."""
MAX_ID = 2**53
"""Largest number of a message: what JavaScript can count."""


class Message(NamedTuple):
    """A message of the page."""

    type: str
    id: int | None
    """Its number, which the answer has too; None if it has none that can be read."""
    fields: dict[str, Any]


def read_message(text: str) -> Message:
    """Read a message; its fields are checked by its action.

    Raises:
        ValueError: it is no JSON object with a type.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    kind = data.pop("type", None) if isinstance(data, dict) else None
    if not isinstance(kind, str):
        raise ValueError(f"expected a message as JSON, found {text[:60]!r}")
    number = data.pop("id", None)
    if not (type(number) is int and 0 <= number <= MAX_ID):
        number = None
    return Message(kind, number, data)


def check_size(message: Message, text: str) -> None:
    """Raise a ValueError if the text of a message is too large."""
    if len(text) > MAX_CHARACTERS and message.type != "load":
        raise ValueError(
            f"{message.type[:60]}: expected at most {MAX_CHARACTERS:,} characters, found {len(text):,}"
        )


def refusal(error: Exception) -> str:
    """Return an error as one line; of wrong fields, what is wrong with the first one."""
    text = error_text(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        found = "" if first["type"].startswith("missing") else f", found {str(first['input'])[:60]!r}"
        text = f"{'.'.join(map(str, first['loc']))}: {first['msg'][0].lower()}{first['msg'][1:]}{found}"
    return " ".join(text.split()) or type(error).__name__
