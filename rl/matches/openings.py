"""Openings: all distinct positions after three plies that do not lose a man by force, computed.

Matches draw from them, as tournaments of checkers draw their openings by lot (174 of 188 positions, as in
the three-move ballot). A man is lost by force where alpha-beta on material to `DEPTH` plies says so for
either side. Games of stones have no such measure: theirs are all positions after three plies.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from ckai.game import Position
from ckai.game.material import UNBOUNDED, alpha_beta
from ckai.rl.games.registry import CHECKERS, Kind
from ckai.rl.matches.alphabeta import VALUES

PLIES, DEPTH = 3, 8


@cache
def balanced_openings(plies: int = PLIES, depth: int = DEPTH, men: int = 0) -> tuple[Position, ...]:
    """Every distinct position after so many plies in which neither side wins a man by force.

    Args:
        plies: 0 or more.
        depth: plies that are looked ahead, captures that go on not counted.
        men: that may be won by force all the same.
    """
    after = _after(Position.start(), plies)
    return tuple(p for p in after if abs(_worth(p, depth)) < VALUES.man * (men + 1))


@cache
def openings_of(kind: Kind, plies: int = PLIES, men: int = 0) -> tuple[Any, ...]:
    """The openings of a game: `balanced_openings` of checkers, or every distinct position after so many plies
    that is not over."""
    if kind is CHECKERS:
        return balanced_openings(plies, men=men)
    return tuple(p for p in _after(kind.position(), plies) if p.legal_moves())


def _after(first: Any, plies: int) -> list[Any]:
    positions = {first.key: first}
    for _ in range(plies):
        after = [p.push(move) for p in positions.values() for move in p.legal_moves()]
        positions = {p.key: p for p in after}
    return list(positions.values())


def _worth(position: Position, depth: int) -> int:
    where = (position.own, position.opp, position.kings, position.jumper, position.halfmove_clock, depth)
    return int(alpha_beta(*map(np.int64, where), np.int64(-UNBOUNDED), np.int64(UNBOUNDED), VALUES))


def draw_openings(count: int, seed: int, kind: Kind = CHECKERS) -> list[Any]:
    """`count` openings by lot, all different while there are that many, then all of them again."""
    known: Sequence[Any] = openings_of(kind)
    rng = np.random.default_rng(seed)
    drawn: list[int] = []
    while len(drawn) < count:
        drawn += rng.permutation(len(known)).tolist()
    return [known[i] for i in drawn[:count]]
