"""Plots of strength: tournaments and ladders."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ckai.datasets.files import save_figure
from ckai.rl.engine.text import GTP, HUB
from ckai.rl.matches.elo import PairStatistics
from ckai.rl.matches.ladder import ladder_text
from ckai.rl.matches.ratings import Rating


def short(name: str) -> str:
    """Shorten a player's name to the run and generation, without leading folders; of a command, each word."""
    if " " in name and name.startswith((HUB, GTP)):
        return " ".join(map(short, name.split(" ")))
    parts = name.replace("/networks/", "/").split("/")
    return "/".join(parts[-2:]).replace("/best.ckpt", "")


def plot_tournament(path: Path, names: Sequence[str], rated: Sequence[Rating]) -> None:
    """Plot the ratings of players with their intervals to a PNG file."""
    figure, axes = _figure((6 + 0.3 * len(names), 4 + 0.12 * len(names)))
    errors = [[r.elo - r.low for r in rated], [r.high - r.elo for r in rated]]
    axes.errorbar(range(len(names)), [r.elo for r in rated], errors, fmt="o-", capsize=3)
    axes.set_xticks(range(len(names)), [short(name) for name in names], rotation=90, fontsize=7)
    axes.set_ylabel("Elo (mean 0)")
    axes.set_title("ratings, 95 % intervals")
    axes.grid(alpha=0.3)
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
    figure, axes = _figure((7, 4.5))
    for name, scores in climbed.items():
        errors = np.array([np.abs(np.array(p.score_interval) - p.score) for p in scores.values()]).T
        label = f"{short(name)}: {ladder_text(levels[name], scores)}"
        points = [pairs.score for pairs in scores.values()]
        axes.errorbar(list(scores), points, errors, fmt="o-", capsize=3, label=label)
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


def _figure(size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots()
