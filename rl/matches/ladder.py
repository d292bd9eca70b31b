"""A ladder of opponents of known order: how strong a player is beside vanilla MCTS."""

import math
from collections.abc import Mapping

import numpy as np

from ckai.rl.matches.elo import PairStatistics


def ladder_rating(rungs: Mapping[int, PairStatistics]) -> float:
    """The playouts a move at which vanilla MCTS would score as much as the player.

    A line is laid through the scores over the logarithm of the playouts, each score weighing by its error
    (weighted logistic fit by Newton's method); below the first or above the last rung it goes on.
    """
    x = np.array([math.log2(n) for n in rungs])
    y = np.array([found.score for found in rungs.values()])
    n = np.array([2.0 * found.pairs for found in rungs.values()])
    # One drawn game on each rung keeps the line from standing upright where all scores are 0 or 1.
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
    if b >= -1e-3:  # no fall with the playouts: nothing can be said but which end it lies beyond
        return float(2 ** (x.max() if y.mean() > 0.5 else x.min()))
    return float(2 ** np.clip(x.mean() - a / b, 0, 40))
