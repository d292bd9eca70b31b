"""Statistics of the games of a generation."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.rows import Ending

SCORES = {"1-0": 1.0, "1/2-1/2": 0.0, "0-1": -1.0}
"""Black's score by PDN result; none for `*`."""


def describe(table: Any, ends: Sequence[Ending], seconds: float, evaluations: int) -> dict[str, Any]:
    """Summarise the games of a generation.

    Args:
        table: rows of the games, ordered by game, ply and hop.
        ends: how each game ended.
        seconds: time spent on them.
        evaluations: network evaluations in that time.

    Returns:
        `games`, `rows`, `plies_mean`, results (`black_won`, `drawn`, `white_won`, `unknown`), `q_z_mse` (mean
        squared error of q against z, None without results), `seconds` and `evaluations_per_second`.
    """
    game, ply = table["game"].to_numpy(), table["ply"].to_numpy()
    last = np.flatnonzero(np.append(game[1:] != game[:-1], True))
    scores = [SCORES.get(end.result) for end in ends]
    q, z = table["q"].to_numpy(), table["z"].to_pandas().to_numpy(dtype=float)
    has_result = ~np.isnan(z)
    return {
        "games": len(last),
        "rows": table.num_rows,
        "plies_mean": float(np.mean(ply[last] + 1)),
        "black_won": scores.count(1.0),
        "drawn": scores.count(0.0),
        "white_won": scores.count(-1.0),
        "unknown": scores.count(None),
        "q_z_mse": float(np.mean((q[has_result] - z[has_result]) ** 2)) if has_result.any() else None,
        "seconds": round(seconds, 3),
        "evaluations_per_second": round(evaluations / max(seconds, 1e-9), 1),
    }


def seconds_of(measured: dict[str, Any]) -> float:
    """Return the seconds that a generation took: self-play, training and gate match."""
    stages = ("selfplay", "learn", "match")
    return sum(float(measured.get(stage, {}).get("seconds", 0.0)) for stage in stages)


def elo_curve(history: Sequence[dict[str, Any]]) -> list[float]:
    """Return the Elo of each generation above the first network: the running sum over accepted networks.

    The errors of the matches add up too, so this shows a trend and proves nothing. The luck by which a gate
    accepts networks does not, see `play_gate_match`.

    Args:
        history: measurements by generation, as in `done.json`.
    """
    total, curve = 0.0, []
    for measured in history:
        if measured["accepted"]:
            total += measured["match"].get("elo", 0.0)
        curve.append(total)
    return curve


def best_generation(history: Sequence[dict[str, Any]]) -> int:
    """Return the generation with the highest Elo (`elo_curve`); of equals, and without matches, the newest.

    Args:
        history: measurements by generation, as in `done.json`.

    Returns:
        The generation; 0 for the first network.
    """
    curve = [0.0, *elo_curve(history)]
    return max(range(len(curve)), key=lambda n: (curve[n], n))


def first_scores(table: Any, results: Mapping[int, str]) -> dict[int, float]:
    """Return the result of each game, by its number: 1, 0 or -1 for the first mover, NaN if unknown.

    Args:
        table: rows of the games, ordered by game, ply and hop.
        results: PDN result of each game, by its number.
    """
    game = table["game"].to_numpy()
    first = np.flatnonzero(np.append(True, game[1:] != game[:-1]))
    black = table["black"].to_numpy(zero_copy_only=False)[first]
    return {
        number: SCORES.get(results[number], math.nan) * (1 if black_first else -1)
        for number, black_first in zip(game[first].tolist(), black.tolist(), strict=True)
    }


def endings(ends: Sequence[Ending], config: SelfPlayConfig) -> dict[str, int]:
    """Count the games that did not end by rule.

    Args:
        ends: how each game ended.
        config: settings they were played with.

    Returns:
        `adjudicated` games, whose result is from a tablebase; `resigned` games; `played_out` games in which a
        side met the resignation threshold but played on to a result, and of these the ones that it did not
        lose (`wrongly`).
    """
    counts: dict[str, int] = {}
    if config.tables:
        counts["adjudicated"] = sum(end.adjudicated for end in ends)
    if config.resign:
        counts["resigned"] = sum(end.resigned for end in ends)
        lost = {"Black": "0-1", "White": "1-0"}
        played_out = [end for end in ends if end.resigner is not None and end.result in SCORES]
        counts["played_out"] = len(played_out)
        counts["wrongly"] = sum(end.result != lost[str(end.resigner)] for end in played_out)
    return counts
