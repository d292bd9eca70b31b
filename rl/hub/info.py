"""The protocol's `info` and `done`: results of a search."""

import math

from ckai.game import Position
from ckai.rl.players.hub_text import hub_move, write_line
from ckai.rl.thinkers.thinker import Report

WON = 100.0
"""Score of a game that is won, less 0.01 for each ply to its end: what programs of the protocol send."""
MAX_MEN = 50.0
"""Largest score of a position that is not proven."""
MAN = 0.7
"""`atanh` of the value of a position that is a man ahead: the median of 250 even positions of expert games
from which a random man was taken, by the installed network and alpha-beta of 4 plies."""


def score(report: Report) -> float | None:
    """Return the score of a result in men, for the side to move; None if it has no value.

    A proven win in n plies has the score 100 - n / 100, a loss the negative. Otherwise the value v, the
    expected result in [-1, 1], is as good as `atanh(v) / MAN` men: the odds of winning grow by the same
    factor with every man.
    """
    if report.value is None:
        return None
    if report.plies is not None:
        return math.copysign(WON - report.plies / 100, report.value)
    if abs(report.value) >= 1:
        return math.copysign(MAX_MEN, report.value)
    men = math.atanh(report.value) / MAN
    return max(-MAX_MEN, min(men, MAX_MEN))


def info_line(report: Report) -> str | None:
    """Format a result as an `info` message; None if the player has no values."""
    men = score(report)
    if men is None:
        return None
    return write_line(
        "info",
        depth=report.depth,
        score=f"{men + 0.0:.2f}",
        nodes=report.nodes,
        time=f"{report.seconds:.3f}",
        nps=f"{report.nodes / max(report.seconds, 1e-6) / 1e6:.3f}",
        pv=" ".join(map(hub_move, report.pv)),
    )


def done_line(report: Report, position: Position) -> str:
    """Format the move to play, and the reply that is expected if that is known.

    Args:
        report: the result.
        position: the position that was searched.
    """
    expected = {"ponder": hub_move(report.pv[1])} if len(report.pv) > 1 else {}
    return write_line("done", move=hub_move(report.move), **expected)
