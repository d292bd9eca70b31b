"""Limits of a search and the time it may take by a clock; clocks of games; texts of engines, `WHO@LIMIT`.

Imports nothing heavy, so that help and checks are quick.
"""

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

MAX_COUNT = 2**31 - 1
"""Largest limit on visits, depth and nodes: the tree counts in 32 bits."""
MIN_MOVES, EXPECTED_PLIES = 12, 48
"""C and MaxPly, see `Limit.move_time`, for games of about 40 moves a side."""
MAX_RATIO = 3.0
"""Largest multiple of a move's time that a search may take while its result is unsettled."""
OVERHEAD = 0.02
"""Seconds kept back on every move for what is not search: threads that wait for a core, passing the move."""
CHECKS = 64
"""How often a search looks, within the time of a move, whether it can end."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
_TIME = r"(\d+(?:\.\d*)?|\.\d+)(ms|s|m)"
_CONTROL = re.compile(rf"{_TIME}(?:\+{_TIME})?")
MAX_SECONDS = 1_000_000
"""Largest time of a game, and largest increment."""
SHOWN = 300
"""Most characters of a text from elsewhere that a message quotes."""
Proof: TypeAlias = Literal["win", "loss", "draw"]
REVERSED: dict[Proof, Proof] = {"win": "loss", "loss": "win", "draw": "draw"}

DEFAULT_VISITS, DEFAULT_DEPTH, DEFAULT_SECONDS = 400, 6, 0.1
"""Limits of a text without one: of a tree search, of alpha-beta on material, of others by time."""
FULL_STRENGTH_SECONDS = 0.5
"""Time per move of the highest level."""
DEFAULT_LEVEL = 7
"""The opponent where none is chosen: a club player beats it sometimes."""
HUB, GTP, LEVEL, ALPHA_BETA = "hub:", "gtp:", "level:", "alphabeta:"
"""Starts of texts: a command follows, a number, or a network."""
KINDS = ("random", "perfect", "alphabeta", HUB, GTP, LEVEL, ALPHA_BETA)
"""Texts, and starts of texts, that are no tree search."""

PLAYER_FORMS = {
    "best.ckpt@400": "a network or a run's best, 400 visits per move",
    "best.ckpt@0.5s": "half a second per move; @50ms is 0.05 s",
    "best.ckpt@60s+0.6s": "a clock: a minute a game and 0.6 s a move; @5m",
    "best.ckpt@policy": "the policy's best move, without search",
    "ckai@0.5s": "the network installed with ckai, the best one where time is short",
    "small@400": "a larger one installed with it, the best one at equal visits",
    "level:3": "a level of play, from 1 for beginners; 16 is full strength",
    "rollout@1000": "vanilla MCTS, 1,000 random playouts per move",
    f"alphabeta@d{DEFAULT_DEPTH}": f"alpha-beta search of material, {DEFAULT_DEPTH} plies deep",
    "alphabeta:swift.ckpt@50ms": "alpha-beta search with an integer network; or @d8, @60s+0.6s",
    "hub:COMMAND": "another program, by the Hub protocol; @0.5s, @60s+0.6s, or @d8",
    "gtp:COMMAND": "another program, by GTP, the protocol of Go programs; @5s or @5m",
    "uniform@100": "search with uniform priors, without a network",
    "random": "random legal moves",
    "perfect": "perfect play, ties broken at random, in games that can be solved",
}
"""Every form of a text, by example, and what it stands for."""

_TEXT = re.compile(r"(?P<who>.+)@(?P<limit>policy|d?\d+|[\d.]+(?:s|ms|m)(?:\+[^@/]*)?)")


class MoveTime(NamedTuple):
    """The time of one move, in seconds."""

    optimum: float
    """When a search ends whose result is settled."""
    maximum: float
    """When every search ends."""


@dataclass(frozen=True, kw_only=True)
class Limit:
    """When a search ends: at the first of these that is reached; None is no limit, out of range a ValueError.

    A search also ends when the root is proven, the tree is full or it is stopped. What an earlier search left
    in the tree counts, but for `nodes`: to compare limits, call `Engine.new_game` before each.
    """

    visits: int | None = None
    """Visits at the root, 1 or more; those kept from an earlier search count."""
    seconds: float | None = None
    """Wall time of this call, above 0, for a whole move: all hops of a capture together. The root is always
    evaluated, and batches in flight are completed."""
    clock: float | None = None
    """Seconds left to the side to move, of which the search takes a share; 0 or less: evaluates the root."""
    increment: float = 0.0
    """Seconds that the clock gains after the move, 0 or more."""
    remaining_moves: int | None = None
    """Moves to the next time control, this one included, 1 or more; None: the clock is for the whole game."""
    depth: int | None = None
    """Plies from the root to the deepest position in the tree (selective depth), 1 or more; a capture of
    several hops is 1 ply."""
    nodes: int | None = None
    """Most positions that this search adds to the tree, 1 or more, those within a capture included."""

    def __post_init__(self) -> None:
        for name in ("visits", "depth", "nodes", "remaining_moves"):
            count = getattr(self, name)
            if count is not None and not (hasattr(count, "__index__") and 1 <= count <= MAX_COUNT):
                raise ValueError(f"expected {name} from 1 to {MAX_COUNT:,}, found {count!r}")
        if self.seconds is not None and not self.seconds > 0:
            raise ValueError(f"expected seconds > 0, found {self.seconds!r}")
        if self.clock is not None and not math.isfinite(self.clock):
            raise ValueError(f"expected a finite clock, found {self.clock!r}")
        if not 0 <= self.increment < math.inf:
            raise ValueError(f"expected increment >= 0, found {self.increment!r}")
        if self.clock is None and (self.increment or self.remaining_moves is not None):
            raise ValueError("expected a clock with an increment or remaining_moves, found none")

    @property
    def given(self) -> frozenset[str]:
        """The names of the limits that are set."""
        names = ("visits", "seconds", "clock", "depth", "nodes")
        return frozenset(name for name in names if getattr(self, name) is not None)

    def move_time(self, plies: int, margin: float) -> MoveTime | None:
        """Return the time of a move after so many plies, of which `margin` is kept back; None: no limit.

        A clock is divided by the moves to come, `C + max(P - plies, 0) / 2` as in Huang, Coulom and Lin,
        "Time Management for Monte-Carlo Tree Search Applied to the Game of Go" (2010), or `remaining_moves`
        if these are fewer. The increment is spent at once. No move takes more than half of the time left,
        unless it is the last one before a time control. Both times are 0 if no more than the margin is left.
        """
        most = math.inf if self.seconds is None else self.seconds
        if self.clock is None:
            return None if self.seconds is None else MoveTime(most, most)
        to_come = min(MIN_MOVES + max(EXPECTED_PLIES - plies, 0) / 2, self.remaining_moves or math.inf)
        usable = max(0.0, self.clock - margin)
        bound = min(usable * max(1 / to_come, 0.5), most)
        optimum = min(usable / to_come + self.increment, bound)
        return MoveTime(optimum, min(MAX_RATIO * optimum, bound))

    def __repr__(self) -> str:
        given = (f"{name}={value!r}" for name, value in vars(self).items() if value != getattr(Limit, name))
        return f"Limit({', '.join(given)})"


class MoveTimer:
    """One move by time: decides when its search ends.

    By the rules EARLY and UNST of Huang, Coulom and Lin: before its time if its first move can no longer
    change, after it while the most visited move is not the one of the highest value.
    """

    def __init__(self, time: MoveTime, begun: float, visits: int, *, early: bool = True) -> None:
        """Begin a move, now, with `visits` of the root; `early`: the search may end before its time."""
        self.early, self.begun = early, begun
        self.optimum, self.maximum = time
        self._first_visits, self._last = visits, (begun, visits)
        self._interval, self._next = self.optimum / CHECKS, begun

    def ended(self, now: float, visits: int, compare: Callable[[], tuple[float, bool]]) -> bool:
        """Return whether the search ends: its time is over, or its first move can no longer change.

        `compare` returns the visits that the next move at the root lacks to the first one, infinite without a
        next move, and whether no rival has a higher value; it is called only now and then.
        """
        if now - self.begun >= self.maximum:
            return True
        if not self.early or now < self._next:
            return False
        self._next = now + self._interval
        spent, (last, last_visits) = now - self.begun, self._last
        lead, settled = compare()
        if lead == math.inf:
            return True
        if spent >= self.optimum:
            return settled
        if spent < self._interval:
            return False
        self._last = now, visits
        # Batches grow with the tree, and so does the rate.
        rate = max((visits - self._first_visits) / spent, (visits - last_visits) / max(now - last, 1e-9))
        return lead > rate * (self.optimum - spent)


def read_clock(text: str) -> Limit:
    """Parse the time of a player for a game, and what every move adds to it, in ms, s or m.

    A ValueError refuses what is none.

    >>> read_clock("5m+3s")
    Limit(clock=300.0, increment=3.0)
    """
    parts = _CONTROL.fullmatch(text)
    if parts is None:
        raise ValueError(f"expected a time control such as 5m+3s or 60s+0.6s, found {text!r}")
    number, unit, added, added_unit = parts.groups("")
    seconds, increment = float(number) * _UNITS[unit], float(added or 0) * _UNITS.get(added_unit, 0.0)
    if not 0 < seconds <= MAX_SECONDS or increment > MAX_SECONDS:
        raise ValueError(f"expected a time above 0 and at most {MAX_SECONDS:,} s, found {text[:SHOWN]!r}")
    return Limit(clock=seconds, increment=increment)


class Clock:
    """The clock of one player in one game, with the time of a `Limit`; it stands still until `start`."""

    def __init__(self, limit: Limit, now: Callable[[], float] = time.perf_counter) -> None:
        self._increment, self._now, self._left = limit.increment, now, limit.clock or 0.0
        self._started: float | None = None

    @property
    def limit(self) -> Limit:
        """What is left, as the limit of the next move."""
        return Limit(clock=self.left, increment=self._increment)

    @property
    def left(self) -> float:
        """Seconds left, below 0 once the time is over."""
        return self._left if self._started is None else self._left - (self._now() - self._started)

    def start(self) -> None:
        """Start the clock; does nothing if it runs."""
        if self._started is None:
            self._started = self._now()

    def stop(self) -> None:
        """Stop the clock; does nothing if it does not run."""
        self._left, self._started = self.left, None

    def press(self) -> None:
        """End a move: stop the clock, and add the increment."""
        self.stop()
        self._left += self._increment


@dataclass(frozen=True)
class EngineText:
    """A parsed text of an engine; a number is visits or playouts, or the depth where an engine has none."""

    text: str
    who: str
    limit: Limit | None = None
    """Of a move; a clock is for a game."""
    policy: bool = False

    @property
    def kind(self) -> str:
        """One of `KINDS`, empty for a tree search."""
        who = self.who
        return next((k for k in KINDS if who == k or (k.endswith(":") and who.startswith(k))), "")

    @property
    def rest(self) -> str:
        """What follows the kind: a command, a number, or a network."""
        return self.who.removeprefix(self.kind)

    @classmethod
    def read(cls, text: str) -> "EngineText":
        """Parse a text, see `PLAYER_FORMS`; a ValueError refuses an empty one, and a limit out of range."""
        if not text.strip():
            raise ValueError("expected a player, found an empty name")
        parts = _TEXT.fullmatch(text)
        plain = cls(text, parts["who"] if parts else text)
        if plain.who.rstrip() in (HUB, GTP, ALPHA_BETA):
            what = "network" if plain.kind == ALPHA_BETA else "command"
            raise ValueError(f"expected {plain.kind}{what.upper()}, found '{text}' without a {what}")
        if parts is None or parts["limit"] == "policy":
            return replace(plain, policy=parts is not None)
        limit, digits = parts["limit"], parts["limit"].removeprefix("d")
        if not digits.isdigit():
            try:
                found = read_clock(limit)
            except ValueError as error:
                raise ValueError(f"{text}: {error}") from None
            a_game = "+" in limit or limit.endswith("m")
            return replace(plain, limit=found if a_game else Limit(seconds=found.clock))
        if not 0 < (number := float(digits)) <= MAX_COUNT:
            raise ValueError(f"expected a limit from 1 to {MAX_COUNT:,} after the @, found {text!r}")
        deep = digits != limit or plain.kind
        return replace(plain, limit=Limit(depth=int(number)) if deep else Limit(visits=int(number)))


def forms_text() -> str:
    """Return `PLAYER_FORMS` as the lines of a list, for help."""
    width = max(map(len, PLAYER_FORMS))
    return "\n".join(f"  {form:<{width}}  {meaning}" for form, meaning in PLAYER_FORMS.items())
