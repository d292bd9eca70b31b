"""What there is to say of the games of a generation."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ckai.rl.as_pdn import ADJUDICATED
from ckai.rl.selfplay import SelfPlayConfig


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


def at_tables(table: Any, pdn: Iterable[str], config: SelfPlayConfig) -> dict[str, int]:
    """Games that the endgame tables ended, or rows whose z they gave (see `SelfPlayConfig.at_tables`)."""
    if config.at_tables == "adjudicate":
        return {"adjudicated": sum(ADJUDICATED in text for text in pdn)}
    if config.at_tables == "play":
        return {}
    board = table["board"].combine_chunks().flatten().to_numpy().reshape(-1, 32)
    first = np.flatnonzero(np.diff(table["game"].to_numpy(), prepend=-1))
    lengths = np.diff([*first, len(board)])
    reached = np.logical_or.reduceat((board != 0).sum(axis=1) <= config.tables, first)
    return {"labelled": int(lengths[reached].sum())}
