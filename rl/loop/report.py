"""What there is to say of the games of a generation."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ckai.rl.selfplay.config import SelfPlayConfig
from ckai.rl.selfplay.rows import Ending


def describe(table: Any, seconds: float, evaluations: int) -> dict[str, Any]:
    """What there is to say of a generation's games; times are those of the last start."""
    game, ply = table["game"].to_numpy(), table["ply"].to_numpy()
    last = np.flatnonzero(np.append(game[1:] != game[:-1], True))
    z, black = (
        table["z"].to_pandas().to_numpy(dtype=float)[last],
        table["black"].to_numpy(zero_copy_only=False)[last],
    )
    for_black = np.where(black, z, -z)
    q, all_z = table["q"].to_numpy(), table["z"].to_pandas().to_numpy(dtype=float)
    known = ~np.isnan(all_z)
    return {
        "games": len(last),
        "rows": table.num_rows,
        "plies_mean": float(np.mean(ply[last] + 1)),
        "black_won": int(np.sum(for_black == 1)),
        "drawn": int(np.sum(for_black == 0)),
        "white_won": int(np.sum(for_black == -1)),
        "unknown": int(np.sum(np.isnan(for_black))),
        "q_z_mse": float(np.mean((q[known] - all_z[known]) ** 2)) if known.any() else None,
        "seconds": round(seconds, 3),
        "evaluations_per_second": round(evaluations / max(seconds, 1e-9), 1),
    }


def seconds_of(measured: dict[str, Any]) -> float:
    """Time that a generation took: play, learning and match."""
    return sum(float(measured[stage].get("seconds", 0.0)) for stage in ("selfplay", "learn", "match"))


def elo_curve(history: Sequence[dict[str, Any]]) -> list[float]:
    """Elo after each generation above the first network, as the matches of those taken add up.

    Each step has the error of its match, and they add up too: a curve to watch, no proof.
    """
    total, curve = 0.0, []
    for measured in history:
        if measured["accepted"]:
            total += measured["match"].get("elo", 0.0)
        curve.append(total)
    return curve


def first_scores(table: Any) -> dict[int, float]:
    """1, 0 or -1 for the player of each game's first move, NaN if nobody knows, by number of the game."""
    game = table["game"].to_numpy()
    first = np.flatnonzero(np.append(True, game[1:] != game[:-1]))
    z = table["z"].to_pandas().to_numpy(dtype=float)[first]
    return dict(zip(game[first].tolist(), z.tolist(), strict=True))


def endings(table: Any, ends: Sequence[Ending], config: SelfPlayConfig) -> dict[str, int]:
    """How games ended other than by rule.

    Args:
        table: rows of the games.
        ends: how each of them ended.
        config: how they were played.

    Returns:
        `adjudicated` games, or `labelled` rows, whose z endgame tables gave (see `SelfPlayConfig.at_tables`);
        `resigned` games; `played_out` games that a side would have given up, and of these `wrongly` those
        that it did not lose.
    """
    counts: dict[str, int] = {}
    if config.tables and config.at_tables == "adjudicate":
        counts["adjudicated"] = sum(end.adjudicated for end in ends)
    elif config.tables and config.at_tables == "label":
        counts["labelled"] = _labelled(table, config.tables)
    if config.resign:
        counts["resigned"] = sum(end.resigned for end in ends)
        lost = {"Black": "0-1", "White": "1-0"}
        played_out = [end for end in ends if end.resigner is not None]
        counts["played_out"] = len(played_out)
        counts["wrongly"] = sum(end.result != lost[str(end.resigner)] for end in played_out)
    return counts


def _labelled(table: Any, pieces: int) -> int:
    """Rows of the games that came to so many pieces or fewer."""
    board = table["board"].combine_chunks().flatten().to_numpy().reshape(-1, 32)
    first = np.flatnonzero(np.diff(table["game"].to_numpy(), prepend=-1))
    lengths = np.diff([*first, len(board)])
    reached = np.logical_or.reduceat((board != 0).sum(axis=1) <= pieces, first)
    return int(lengths[reached].sum())
