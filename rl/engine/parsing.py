"""The text of a text of an engine, parsed; imports nothing heavy, so that a command can check it first."""

import re
from dataclasses import dataclass

from ckai.rl.games.clock import TimeControl

MOST = 1_000_000_000
"""Largest number after the @."""

HUB = "hub:"
"""Start of the spec of another program; its command line follows."""
GTP = "gtp:"
"""Start of the spec of a program that speaks GTP; its command line follows."""
LEVEL = "level:"
"""Start of the spec of a level of play, whose number follows."""
ALPHA_BETA = "alphabeta:"
"""Start of the spec of alpha-beta with a network, whose file follows."""

_LIMIT = re.compile(r"(?P<who>.+)@(?:(?P<number>\d+)|(?P<seconds>\d*\.?\d+)(?P<unit>m?)s|(?P<policy>policy))")


_TIME = r"\d*\.?\d+(?:ms|m|s)"
_CLOCK = re.compile(rf"(?P<who>.+)@(?P<control>\d+/{_TIME}(?:\+[^@/]*)?|{_TIME}\+[^@/]*|\d*\.?\d+m)")
"""A time control: moves/time, time+increment (which is checked later), or minutes."""


class EngineTextError(ValueError):
    """A text is not a text of an engine; says what was expected and found."""


@dataclass(frozen=True)
class EngineText:
    """A parsed text of an engine."""

    text: str
    who: str
    number: int | None = None
    """Visits, playouts or depth in plies."""
    seconds: float | None = None
    policy: bool = False
    control: TimeControl | None = None
    """Time per game."""

    @classmethod
    def read(cls, text: str) -> "EngineText":
        """Parse a text of an engine.

        Args:
            text: `WHO` or `WHO@LIMIT`, see `ckai.rl.engine.forms`.

        Raises:
            EngineTextError: an empty text or command, or a limit of 0 or too large.
        """
        if not text.strip():
            raise EngineTextError("expected a player, found an empty name")
        parts, clock = _LIMIT.fullmatch(text), _CLOCK.fullmatch(text)
        who = clock["who"] if clock else parts["who"] if parts else text
        for start, what in ((HUB, "COMMAND"), (GTP, "COMMAND"), (ALPHA_BETA, "NETWORK")):
            if who.startswith(start) and not who.removeprefix(start).strip():
                raise EngineTextError(f"expected {start}{what}, found '{text}' without a {what.lower()}")
        if clock is not None:
            try:
                return cls(text, who, control=TimeControl.read(clock["control"]))
            except ValueError as error:
                raise EngineTextError(f"{text}: {error}") from None
        if parts is None:
            return cls(text, text)
        number, seconds = parts["number"], parts["seconds"]
        if seconds and parts["unit"]:
            seconds = str(float(seconds) / 1000)
        if (number and not 1 <= float(number) <= MOST) or (seconds and not 0 < float(seconds) <= MOST):
            raise EngineTextError(
                f"{text}: expected a limit above 0 and at most {MOST:,} after the @, "
                f"found {text.rpartition('@')[2]}"
            )
        return cls(
            text,
            parts["who"],
            int(number) if number else None,
            float(seconds) if seconds else None,
            bool(parts["policy"]),
        )
