"""The messages of the page: which there are, what they may hold, and how large they may be."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_CHARACTERS, MAX_LOADED_CHARACTERS = 64 * 1024, 8 * 1024 * 1024
"""Largest message, and largest text of a `load`, in characters."""
MAX_ID = 2**53
"""Largest number of a message: what JavaScript can count."""


class MessageError(ValueError):
    """A message that cannot be understood; one line that says what was expected and found.

    Attributes:
        id: number of the message, None if it has none that can be read.
    """

    def __init__(self, text: str, number: int | None = None) -> None:
        super().__init__(text)
        self.id = number


@dataclass(frozen=True)
class Message:
    """A message of the page that was checked."""

    type: str
    id: int | None
    fields: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """Return a field, or `default` where the message does not have it."""
        return self.fields.get(name, default)


Check = Callable[[Any], bool]


def _text(most: int) -> tuple[str, Check]:
    def check(value: Any) -> bool:
        if not isinstance(value, str) or len(value) > most:
            return False
        try:  # JSON can hold lone surrogates, which UTF-8 cannot
            value.encode()
        except UnicodeEncodeError:
            return False
        return True

    return f"a text of at most {most:,} characters", check


def _number(least: int, most: int) -> tuple[str, Check]:
    def check(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return f"a whole number from {least:,} to {most:,}", check


def _pieces(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) > 1000:
        return False
    return all(
        key.isascii() and key.isdigit() and len(key) < 5 and piece in ("b", "w", "B", "W")
        for key, piece in value.items()
    )


_NODE = _number(0, 2**31)
_FLAG: tuple[str, Check] = ("true or false", lambda v: isinstance(v, bool))
_PLACE = {
    "fen": _text(2000),
    "pieces": ('pieces by square, such as {"11": "b"}', _pieces),
    "turn": ("black or white", lambda v: v in ("black", "white")),
}
_NAME = _text(200)

FIELDS: dict[str, dict[str, tuple[str, Check]]] = {
    "hello": {"table": _text(100)},
    "new": {
        "game": _NAME,
        "black!": _NAME,
        "white!": _NAME,
        "control": _NAME,
        "fen": _text(2000),
        "opening": _text(2000),
        "node": _NODE,
        "name": _text(60),
    },
    "play": {"move!": _text(200), "node": _NODE},
    "go": {"node!": _NODE},
    "undo": {},
    "redo": {},
    "resign": {},
    "draw": {},
    "rematch": {"swap": _FLAG},
    "analysis": {},
    "resume": {},
    "setup": {**_PLACE, "game": _NAME},
    "check": {**_PLACE, "game": _NAME},
    "comment": {"node!": _NODE, "text!": _text(20_000), "tree": _NAME},
    "nag": {"node!": _NODE, "nag!": _number(0, 255)},
    "promote": {"node!": _NODE},
    "remove": {"node!": _NODE},
    "hint": {},
    "analyse": {"on!": _FLAG, "lines": _number(1, 10), "player": _NAME},
    "stop": {},
    "curve": {"visits": _number(1, 100_000)},
    "endcurve": {},
    "look": {"node": _NODE, "player": _NAME, "visits": _number(1, 20_000)},
    "experts": {"node": _NODE},
    "explain": {"node": _NODE},
    "load": {"text!": _text(MAX_LOADED_CHARACTERS), "name!": _NAME},
    "list": {
        "query": _NAME,
        "result": _text(10),
        "sort": _text(20),
        "offset": _number(0, 10**7),
        "limit": _number(1, 200),
    },
    "open": {"index!": _number(0, 10**7)},
    "save": {},
    "pdn": {},
    "runs": {},
    "follow": {"run!": _text(1000)},
    "unfollow": {},
    "rungame": {"run!": _text(1000), "generation!": _number(0, 10**6), "index!": _number(0, 10**6)},
    "ping": {},
}
"""The fields of every message, each with what it must be; a `!` marks those that it must have."""


def read_message(text: str) -> Message:
    """Check a message.

    Raises:
        MessageError: it is too large, not JSON, of an unknown type, or has a wrong field.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise MessageError(f"expected a message as JSON, found {text[:60]!r}") from None
    if not isinstance(data, dict):
        raise MessageError(f"expected a JSON object, found {text[:60]!r}")
    number = data.pop("id", None)
    if not _number(0, MAX_ID)[1](number):
        number = None
    kind = data.pop("type", None)
    if not isinstance(kind, str) or kind not in FIELDS:
        raise MessageError(
            f"expected one of the messages {', '.join(FIELDS)}, found {str(kind)[:60]!r}", number
        )
    if kind != "load" and len(text) > MAX_CHARACTERS:
        raise MessageError(
            f"{kind}: expected at most {MAX_CHARACTERS:,} characters, found {len(text):,}", number
        )
    known = {name.rstrip("!"): name.endswith("!") for name in FIELDS[kind]}
    for name, value in data.items():
        if name not in known:
            fields = ", ".join(known) or "no field"
            raise MessageError(f"{kind}: expected {fields}, found {name[:60]!r}", number)
        wanted, check = FIELDS[kind][name + "!" * known[name]]
        if not check(value):
            found = json.dumps(value)[:60]
            raise MessageError(f"{kind}: expected {name} as {wanted}, found {found}", number)
    for name, required in known.items():
        if required and name not in data:
            raise MessageError(f"{kind}: expected {name}, found none", number)
    return Message(kind, number, data)
