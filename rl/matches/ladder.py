"""The strength of a player as a number of playouts of vanilla MCTS."""

from collections.abc import Collection, Mapping

import numpy as np

from ckai.rl.matches.elo import PairStatistics

_LEAST, _MOST = -1.0, 40.0
"""Bounds of a rating, as logarithms to base 2, beyond every rung."""


def ladder_rating(rungs: Mapping[int, PairStatistics]) -> float:
    """Estimate the playouts per move at which vanilla MCTS would score 1/2 against a player.

    A line is fitted to the logarithm of the odds of a point over that of the playouts (Berkson 1944). The
    estimate may lie beyond the first or last rung, and does where the scores do not fall with the playouts:
    then only the side is known.

    Args:
        rungs: the player's score against vanilla MCTS, by playouts per move.
    """
    x = np.log2(list(rungs))
    n = np.array([2.0 * pairs.pairs for pairs in rungs.values()]) + 1
    # One drawn game per rung keeps the odds finite where all scores are 0 or 1.
    y = (np.array([pairs.score for pairs in rungs.values()]) * (n - 1) + 0.5) / n
    slope, level = np.polyfit(x, np.log(y / (1 - y)), 1, w=np.sqrt(n * y * (1 - y))) if len(x) > 1 else (0, 0)
    if slope >= -1e-3:
        return float(2 ** (_MOST if y.mean() > 0.5 else _LEAST))
    return float(2 ** np.clip(-level / slope, _LEAST, _MOST))


def ladder_text(level: float, rungs: Collection[int]) -> str:
    """Return a ladder rating as a number of playouts, within the rungs: `640`, `20,480 or more`."""
    beyond = " or more" if level > max(rungs) else " or fewer" if level < min(rungs) else ""
    return f"{min(max(level, min(rungs)), max(rungs)):,.0f}{beyond}"
