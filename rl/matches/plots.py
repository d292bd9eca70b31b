"""Plots of strength: tournaments and ladders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.files import save_figure
from ckai.rl.engine.text import GTP, HUB
from ckai.rl.matches.elo import PairStatistics
from ckai.rl.matches.ladder import ladder_text
from ckai.rl.matches.ratings import Floats, Rating


def short(name: str) -> str:
    """Shorten a player's name to the run and generation, without leading folders; of a command, each word."""
    if " " in name and name.startswith((HUB, GTP)):
        return " ".join(map(short, name.split(" ")))
    parts = name.replace("/networks/", "/").split("/")
    return "/".join(parts[-2:]).replace("/best.ckpt", "")


def plot_tournament(path: Path, names: Sequence[str], rated: Sequence[Rating], table: Floats) -> None:
    """Plot ratings with their intervals and a heat map of all scores.

    Args:
        path: PNG file to write.
        names: the players.
        rated: their ratings.
        table: `[players, players]` scores of the row player, see `cross_table`.
    """
    figure, (left, right) = _figure(2, (6 + 0.3 * len(names), 4 + 0.12 * len(names)))
    x = np.arange(len(names))
    elo = np.array([r.elo for r in rated])
    errors = [[r.elo - r.low for r in rated], [r.high - r.elo for r in rated]]
    left.errorbar(x, elo, errors, fmt="o-", capsize=3)
    left.set_xticks(x, [short(name) for name in names], rotation=90, fontsize=7)
    left.set_ylabel("Elo (mean 0)")
    left.set_title("ratings, 95 % intervals")
    left.grid(alpha=0.3)
    image = right.imshow(table, vmin=0, vmax=1, cmap="RdYlGn")
    right.set_xticks(x, [short(name) for name in names], rotation=90, fontsize=7)
    right.set_yticks(x, [short(name) for name in names], fontsize=7)
    right.set_title("score of the row")
    if len(names) <= 12:
        for i in range(len(names)):
            for j in range(len(names)):
                if not np.isnan(table[i, j]):
                    right.text(j, i, f"{100 * table[i, j]:.0f}", ha="center", va="center", fontsize=7)
    figure.colorbar(image, ax=right, fraction=0.046)
    save_figure(path, figure, dpi=130)


def plot_ladder(
    path: Path, climbed: Mapping[str, Mapping[int, PairStatistics]], levels: Mapping[str, float]
) -> None:
    """Plot scores over the playouts of vanilla MCTS.

    Args:
        path: PNG file to write.
        climbed: scores of each player by playouts per move.
        levels: ladder rating of each player, see `ladder_rating`.
    """
    figure, (axes,) = _figure(1, (7, 4.5))
    for name, scores in climbed.items():
        errors = np.array([np.abs(np.array(p.score_interval) - p.score) for p in scores.values()]).T
        label = f"{short(name)}: {ladder_text(levels[name], scores)}"
        axes.errorbar(
            list(scores), [pairs.score for pairs in scores.values()], errors, fmt="o-", capsize=3, label=label
        )
    axes.axhline(0.5, color="grey", linewidth=1)
    axes.set_xscale("log")
    rungs = sorted({playouts for scores in climbed.values() for playouts in scores})
    axes.set_xticks(rungs, [f"{playouts:,}" for playouts in rungs], rotation=45)
    axes.minorticks_off()
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("playouts per move of vanilla MCTS")
    axes.set_ylabel("score against it, 95 %")
    axes.legend(title="player: as good as", fontsize=8)
    axes.grid(alpha=0.3)
    save_figure(path, figure, dpi=130)


def _figure(columns: int, size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * (1.4 if columns > 1 else 1), size[1]), layout="constrained")
    return figure, np.atleast_1d(figure.subplots(1, columns))
