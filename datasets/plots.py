"""Plots of a data set: the squares pieces move on, and the lengths of games."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ckai.datasets.files import save_figure
from ckai.datasets.statistics import Statistics
from ckai.game.squares import SQUARES, file_of

_RESULTS = {
    "black": ("Black won", "#1f4e5f"),
    "drawn": ("drawn", "#7fb7be"),
    "white": ("White won", "#e8b04a"),
    "unknown": ("result unknown", "#c9ccd1"),
}


def save_plots(statistics: Statistics, folder: Path) -> list[Path]:
    """Write `moves.png` and `lengths.png` into a folder, which is created if missing.

    Returns:
        The files written.

    Raises:
        WriteError: if they cannot be written.
    """
    made = {folder / "moves.png": move_map(statistics), folder / "lengths.png": length_histogram(statistics)}
    for path, figure in made.items():
        save_figure(path, figure, 130)
    return list(made)


def move_map(statistics: Statistics) -> Figure:
    """Two boards: how often hops leave each square, and land on it; White at the bottom."""
    figure = Figure(figsize=(11.4, 5.8), layout="constrained")
    axes = figure.subplots(1, 2)
    shares = np.array([statistics.from_squares, statistics.to_squares]) / statistics.rows
    for ax, title, share in zip(axes, ("leave", "land on"), shares, strict=True):
        board = np.full((8, 8), np.nan)
        for index in range(SQUARES):
            y, x = index // 4, file_of(index)
            board[y, x] = share[index]
            ink = "white" if share[index] > 0.6 * shares.max() else "black"
            text = f"{index + 1}\n{share[index]:.1%}"
            ax.text(x, y, text, color=ink, fontsize=8.5, ha="center", va="center")
        image = ax.imshow(board, cmap="YlGnBu", vmin=0, vmax=shares.max())
        ax.set(title=f"Squares pieces {title}", xticks=[], yticks=[])
    figure.colorbar(image, ax=axes, shrink=0.75, format=PercentFormatter(1, 0), label="share of all hops")
    figure.suptitle(f"{statistics.rows:,} hops of {statistics.games:,} games (Black starts at the top)")
    return figure


def length_histogram(statistics: Statistics) -> Figure:
    """Histogram of the games' lengths in plies, stacked by result."""
    lengths = statistics.lengths
    width = max(1, -(-lengths.most // 60))
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    ax = figure.subplots()
    games = {name: counts for name, counts in statistics.games_of_length_by_result.items() if any(counts)}
    names = [name for name in _RESULTS if name in games]
    ax.hist(
        [range(lengths.most + 1)] * len(names),
        range(0, lengths.most + width + 1, width),
        weights=[games[name] for name in names],
        stacked=True,
        color=[_RESULTS[name][1] for name in names],
        label=[f"{_RESULTS[name][0]} {sum(games[name]):,}" for name in names],
    )
    for value, name, style in ((lengths.median, "median", "-"), (lengths.mean, "mean", "--")):
        ax.axvline(value, color="#c2410c", linestyle=style, linewidth=1.4, label=f"{name} {value:.1f}")
    bars = f" (bars of {width})" if width > 1 else ""
    ax.set(title=f"Length of {statistics.games:,} games", xlabel=f"plies of a game{bars}", ylabel="games")
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False)
    return figure
