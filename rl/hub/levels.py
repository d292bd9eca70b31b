"""The protocol's `level`: when a search ends."""

import re

from ckai.rl.engine.limit import MAX_COUNT, Limit
from ckai.rl.games.clock import MAX_SECONDS
from ckai.rl.players.hub_text import quoted
from ckai.rl.search.move_time import OVERHEAD

MIN_SECONDS = 0.001
"""Shortest time of a move; less is taken as this."""

_WHOLE = re.compile("[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(?:[0-9]{1,12}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?")


def read_level(arguments: dict[str, str]) -> Limit:
    """Return the limit of a `level` message.

    Args:
        arguments: any of `depth` (plies), `nodes` (positions) and `move-time` (seconds, of which `OVERHEAD`,
            or a quarter if that is less, is kept back for what is not search); or `time`, the
            seconds left without the increment of this move, with `inc`, the increment in seconds, and
            `moves`, the moves to the next time control; or `infinite`. Others are ignored.

    Raises:
        ValueError: a value is not a number in its range, or none of these is given.

    >>> read_level({"time": "59.5", "inc": "0.5"})
    Limit(clock=60.0, increment=0.5)
    """
    limits: dict[str, float] = {}
    for name in ("depth", "nodes"):
        if name in arguments:
            limits[name] = _whole(name, arguments[name])
    if "move-time" in arguments:
        seconds = _real("move-time", arguments["move-time"], least=0)
        limits["seconds"] = max(seconds - min(OVERHEAD, seconds / 4), MIN_SECONDS)
    if "time" in arguments:
        increment = _real("inc", arguments.get("inc", "0"), least=0)
        # The increment is added before every move, and the message comes before that.
        limits["clock"] = _real("time", arguments["time"]) + increment
        limits["increment"] = increment
        if "moves" in arguments:
            limits["remaining_moves"] = _whole("moves", arguments["moves"])
    elif "inc" in arguments or "moves" in arguments:
        raise ValueError("expected time with inc and moves, found none")
    if not limits and "infinite" not in arguments and "ponder" not in arguments:
        raise ValueError("expected depth, nodes, move-time, time or infinite, found none")
    return Limit(**limits)  # type: ignore[arg-type]  # the whole numbers are


def _whole(name: str, text: str) -> int:
    if _WHOLE.fullmatch(text) is None or int(text) < 1:
        raise ValueError(f"expected {name} >= 1, found {quoted(text)}")
    return min(int(text), MAX_COUNT)


def _real(name: str, text: str, least: float = -MAX_SECONDS) -> float:
    if _REAL.fullmatch(text) is None or not least <= float(text) <= MAX_SECONDS:
        raise ValueError(f"expected {name} from {least:,} to {MAX_SECONDS:,} seconds, found {quoted(text)}")
    return float(text)
