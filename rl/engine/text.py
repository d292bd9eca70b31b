"""The texts of engines, `WHO` or `WHO@LIMIT`; imports nothing heavy, so that help and checks are quick."""

import re
from dataclasses import dataclass, replace

from ckai.rl.engine.limit import Limit, TimeControl

DEFAULT_VISITS, DEFAULT_DEPTH, DEFAULT_SECONDS = 400, 6, 0.1
"""Limits of a text without one: of a tree search, of alpha-beta on material, of others by time."""
FULL_STRENGTH_SECONDS = 0.5
"""Time per move of the highest level."""
DEFAULT_LEVEL = 7
"""The opponent where none is chosen: a club player beats it sometimes."""
MOST = 1_000_000_000
"""Largest number after the @."""
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


@dataclass(frozen=True)
class EngineText:
    """A parsed text of an engine; a number is visits or playouts, or the depth where an engine has none."""

    text: str
    who: str
    limit: Limit | None = None
    """Of a single move."""
    policy: bool = False
    control: TimeControl | None = None
    """Time per game."""

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
                control = TimeControl.read(limit)
            except ValueError as error:
                raise ValueError(f"{text}: {error}") from None
            a_game = "+" in limit or limit.endswith("m")
            return (
                replace(plain, control=control)
                if a_game
                else replace(plain, limit=Limit(seconds=control.seconds))
            )
        if not 0 < (number := float(digits)) <= MOST:
            raise ValueError(f"expected a limit above 0 and at most {MOST:,} after the @, found {text!r}")
        deep = digits != limit or plain.kind
        return replace(plain, limit=Limit(depth=int(number)) if deep else Limit(visits=int(number)))


def forms_text() -> str:
    """Return `PLAYER_FORMS` as the lines of a list, for help."""
    width = max(map(len, PLAYER_FORMS))
    return "\n".join(f"  {form:<{width}}  {meaning}" for form, meaning in PLAYER_FORMS.items())
