"""Plots of a data set: the squares pieces move on, and the lengths of games."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator, PercentFormatter

from ckai.datasets.files import save_figure
from ckai.datasets.statistics import Statistics
from ckai.game.squares import SQUARES, file_of

_MAP = colormaps["YlGnBu"]
_INK, _GREY = "#222222", "#6b7280"
_RESULTS = (
    ("black", "Black won", "#1f4e5f"),
    ("drawn", "drawn", "#7fb7be"),
    ("white", "White won", "#e8b04a"),
    ("unknown", "result unknown", "#c9ccd1"),
)
_LIGHT_SQUARE = "#f3efe6"


def save_plots(statistics: Statistics, folder: Path) -> list[Path]:
    """Write `moves.png` and `lengths.png` into a folder, which is created if missing.

    Returns:
        The files written.

    Raises:
        WriteError: if they cannot be written.
    """
    made = [(move_map(statistics), "moves.png"), (length_histogram(statistics), "lengths.png")]
    return [_save(figure, folder / name) for figure, name in made]


def move_map(statistics: Statistics) -> Figure:
    """Two boards: how often hops leave each square, and land on it; White at the bottom."""
    figure = Figure(figsize=(11.4, 5.8), layout="constrained")
    top = max(*statistics.from_squares, *statistics.to_squares) / statistics.rows
    boards = (
        ("Squares pieces leave", statistics.from_squares),
        ("Squares pieces land on", statistics.to_squares),
    )
    axes = figure.subplots(1, 2)
    for ax, (title, counts) in zip(axes, boards, strict=True):
        _board(ax, np.array(counts) / statistics.rows, top)
        ax.set_title(title, color=_INK, fontsize=13)
    figure.suptitle(
        f"{statistics.rows:,} hops of {statistics.games:,} games (Black starts at the top)",
        color=_GREY,
        fontsize=11,
    )
    shade: Any = figure.colorbar(_scale(top), ax=axes, shrink=0.75, pad=0.02, format=PercentFormatter(1, 0))
    shade.set_label("share of all hops", color=_GREY)
    shade.outline.set_visible(False)
    return figure


def length_histogram(statistics: Statistics) -> Figure:
    """Histogram of the games' lengths in plies, stacked by result."""
    lengths = statistics.lengths
    width = max(1, -(-lengths.most // 60))
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    ax = figure.subplots()
    under: Any = 0
    for name, label, colour in _RESULTS:
        games = np.array(statistics.games_of_length_by_result[name])
        if not games.any():
            continue
        bars = np.pad(games, (0, -len(games) % width)).reshape(-1, width).sum(1)
        left = np.arange(len(bars)) * width
        label += f" {games.sum():,}"
        ax.bar(
            left, bars, bottom=under, width=width * 0.92, align="edge", color=colour, label=label, linewidth=0
        )
        under = under + bars
    for value, name, style in ((lengths.median, "median", "-"), (lengths.mean, "mean", "--")):
        ax.axvline(value, color="#c2410c", linestyle=style, linewidth=1.4, label=f"{name} {value:.1f}")
    ax.set_xlim(left=0)
    ax.set_xlabel(f"plies of a game (bars of {width})" if width > 1 else "plies of a game", color=_INK)
    ax.set_ylabel("games", color=_INK)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_title(f"Length of {statistics.games:,} games", color=_INK, fontsize=13)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(axis="y", color="#e5e7eb")
    ax.set_axisbelow(True)
    ax.legend(frameon=False)
    return figure


def _board(ax: Any, shares: np.ndarray[Any, np.dtype[np.float64]], top: float) -> None:
    """Draw `[32]` shares on the 8x8 board, each square with its number and its share."""
    ax.add_patch(Rectangle((0, 0), 8, 8, facecolor=_LIGHT_SQUARE))
    for index in range(SQUARES):
        x, y = file_of(index), index // 4
        share = shares[index]
        colour = _MAP(0.05 + 0.9 * share / top if top else 0.05)
        ax.add_patch(Rectangle((x, y), 1, 1, facecolor=colour, edgecolor="white", linewidth=0.8))
        ink = "white" if 0.299 * colour[0] + 0.587 * colour[1] + 0.114 * colour[2] < 0.55 else _INK
        ax.text(x + 0.08, y + 0.08, str(index + 1), color=ink, fontsize=7.5, va="top", alpha=0.85)
        ax.text(x + 0.5, y + 0.58, f"{share:.1%}", color=ink, fontsize=9.5, ha="center", va="center")
    ax.add_patch(Rectangle((0, 0), 8, 8, fill=False, edgecolor=_GREY, linewidth=1.2))
    ax.set_xlim(-0.05, 8.05)
    ax.set_ylim(8.05, -0.05)
    ax.set_aspect("equal")
    ax.axis("off")


def _scale(top: float) -> Any:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize

    # The same stretch of the map that the squares use.
    part = LinearSegmentedColormap.from_list("part", _MAP(np.linspace(0.05, 0.95, 256)))
    return ScalarMappable(Normalize(0, top), part)


def _save(figure: Figure, path: Path) -> Path:
    save_figure(path, figure, 130)
    return path
