"""The protocol's `level`, `info` and `done`: when a search ends, and what it finds."""

import math
import re
from collections.abc import Sequence

from ckai.game import Move
from ckai.rl.engine.hub_text import hub_move, quoted, write_line
from ckai.rl.engine.limit import MAX_COUNT, Limit
from ckai.rl.engine.result import SearchResult
from ckai.rl.games.clock import MAX_SECONDS
from ckai.rl.search.move_time import OVERHEAD

WON = 100.0
"""Score of a game that is won, less 0.01 for each ply to its end: what programs of the protocol send."""
MAX_MEN = 50.0
"""Largest score of a position that is not proven."""
MAN = 0.7
"""`atanh` of the value of a position that is a man ahead: the median of 250 even positions of expert games
from which a random man was taken, by the installed network and alpha-beta of 4 plies."""
MIN_SECONDS = 0.001
"""Shortest time of a move; less is taken as this."""

_WHOLE = re.compile("[0-9]{1,18}")
_REAL = re.compile(r"[-+]?(?:[0-9]{1,12}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,2})?")


def score(found: SearchResult) -> float | None:
    """Return the score of a result in men, for the side to move; None if it has no value.

    A proven win in n plies has the score 100 - n / 100, a loss the negative. Otherwise the value v, the
    expected result in [-1, 1], is as good as `atanh(v) / MAN` men: the odds of winning grow by the same
    factor with every man.
    """
    best = found.best
    if best.value is None:
        return None
    if best.plies is not None:
        return math.copysign(WON - best.plies / 100, best.value)
    if abs(best.value) >= 1:
        return math.copysign(MAX_MEN, best.value)
    men = math.atanh(best.value) / MAN
    return max(-MAX_MEN, min(men, MAX_MEN))


def info_line(found: SearchResult) -> str | None:
    """Format a result as an `info` message; None if the player has no values."""
    men = score(found)
    if men is None:
        return None
    return write_line(
        "info",
        depth=max(found.depth, 1),
        score=f"{men + 0.0:.2f}",
        nodes=found.nodes,
        time=f"{found.seconds:.3f}",
        nps=f"{found.nodes / max(found.seconds, 1e-6) / 1e6:.3f}",
        pv=" ".join(map(hub_move, found.pv)),
    )


def done_line(pv: Sequence[Move]) -> str:
    """Format the first move of a line as the one to play, and the reply that is expected if there is one."""
    expected = {"ponder": hub_move(pv[1])} if len(pv) > 1 else {}
    return write_line("done", move=hub_move(pv[0]), **expected)


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
