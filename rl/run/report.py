"""Statistics of the games of a generation."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.pool import network_of
from ckai.rl.selfplay.rows import GameHeader


def describe(games: Sequence[GameHeader], config: SelfPlayConfig) -> dict[str, Any]:
    """Summarise the games of a generation, one or more, that were played with some settings.

    Returns:
        `games`, `plies_mean`, results (`black_won`, `drawn`, `white_won`, `unknown`); `adjudicated` games,
        whose result is from a tablebase; `resigned` games; `played_out` games in which a side met the
        resignation threshold but played on to a result, and of these the ones that it did not lose
        (`wrongly`); `pool`, see `pool_scores`, if there are games against past networks.
    """
    results = Counter(game.result for game in games)
    found: dict[str, Any] = {
        "games": len(games),
        "plies_mean": float(np.mean([game.plies for game in games])),
        "black_won": results["1-0"],
        "drawn": results["1/2-1/2"],
        "white_won": results["0-1"],
        "unknown": results["*"],
    }
    if config.tables:
        found["adjudicated"] = sum(game.adjudicated for game in games)
    if config.resign:
        found["resigned"] = sum(game.resigned for game in games)
        lost = {"Black": "0-1", "White": "1-0"}
        played_out = [game for game in games if game.resigner is not None and game.result != "*"]
        found["played_out"] = len(played_out)
        found["wrongly"] = sum(game.result != lost[str(game.resigner)] for game in played_out)
    if scores := pool_scores(games):
        found["pool"] = scores
    return found


def pool_scores(games: Sequence[GameHeader]) -> dict[str, dict[str, int]]:
    """Count the results of newer networks against past ones.

    Returns:
        By number of the past network, the counts `won`, `drawn` and `lost` of the newer one; a game without
        a result is drawn.
    """
    counts: dict[str, dict[str, int]] = {}
    for game in games:
        black, white = map(network_of, (game.black, game.white))
        if black != white:
            of = counts.setdefault(str(min(black, white)), {"won": 0, "drawn": 0, "lost": 0})
            won = {"1-0": "won" if black > white else "lost", "0-1": "won" if white > black else "lost"}
            of[won.get(game.result, "drawn")] += 1
    return dict(sorted(counts.items(), key=lambda each: int(each[0])))


NOISE = 10.0
"""Elo that the match of a generation cannot tell from nothing: of equals the newest network is the best."""


def elo_curve(history: Sequence[dict[str, Any]]) -> list[float]:
    """Return the Elo of each generation above the first network: the running sum over accepted networks.

    The errors of the matches add up too, so this shows a trend and proves nothing. The luck by which a gate
    accepts networks does not, see `play_gate_match`. For `history` see `Run.history`.
    """
    total, curve = 0.0, []
    for measured in history:
        if measured["accepted"]:
            total += measured["match"].get("elo", 0.0)
        curve.append(total)
    return curve


def best_generation(history: Sequence[dict[str, Any]]) -> int:
    """Return the newest generation that is less than `NOISE` below the highest Elo (`elo_curve`).

    It is 0 for the first network; without matches it is the newest.
    """
    curve = [0.0, *elo_curve(history)]
    least = max(curve) - NOISE
    return max(n for n, elo in enumerate(curve) if elo > least)
