"""The strength of a player as a number of playouts of vanilla MCTS."""

import math
from collections.abc import Collection, Mapping

import numpy as np

from ckai.rl.matches.elo import PairStatistics

_LEAST, _MOST = -1.0, 40.0
"""Bounds of a rating, as logarithms to base 2, beyond every rung."""


def ladder_rating(rungs: Mapping[int, PairStatistics]) -> float:
    """Estimate the playouts per move at which vanilla MCTS would score 1/2 against a player.

    A logistic regression of the score on the logarithm of the playouts, by Newton's method, weighted by the
    number of games. The estimate may lie beyond the first or last rung, and does where the scores do not fall
    with the playouts: then only the side is known.

    Args:
        rungs: the player's score against vanilla MCTS, by playouts per move.
    """
    x = np.array([math.log2(n) for n in rungs])
    y = np.array([pairs.score for pairs in rungs.values()])
    n = np.array([2.0 * pairs.pairs for pairs in rungs.values()])
    # One drawn game per rung keeps the slope finite where all scores are 0 or 1.
    y, n = (y * n + 0.5) / (n + 1), n + 1
    a, b = 0.0, -0.5
    for _ in range(100):
        p = 1 / (1 + np.exp(-(a + b * (x - x.mean()))))
        w = n * p * (1 - p)
        centred = x - x.mean()
        gradient = np.array([np.sum(n * (y - p)), np.sum(n * (y - p) * centred)])
        hessian = np.array([[w.sum(), (w * centred).sum()], [(w * centred).sum(), (w * centred**2).sum()]])
        step = np.linalg.solve(hessian + 1e-9 * np.eye(2), gradient)
        a, b = a + float(np.clip(step[0], -2, 2)), b + float(np.clip(step[1], -2, 2))
        if np.abs(step).max() < 1e-9:
            break
    if b >= -1e-3:  # the score does not fall with the playouts: only the side is known
        return float(2 ** (_MOST if y.mean() > 0.5 else _LEAST))
    return float(2 ** np.clip(x.mean() - a / b, _LEAST, _MOST))


def ladder_text(level: float, rungs: Collection[int]) -> str:
    """Return a ladder rating as a number of playouts, within the rungs: `640`, `20,480 or more`."""
    beyond = " or more" if level > max(rungs) else " or fewer" if level < min(rungs) else ""
    return f"{min(max(level, min(rungs)), max(rungs)):,.0f}{beyond}"
