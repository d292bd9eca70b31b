"""Plots of a network: the filters of its first layer, and the calibration of its outputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from ckai.datasets.files import save_figure
from ckai.models.layers.network import Network

MAX_FILTERS = 32
"""Filters drawn of each layer, at most."""
_ROW = 16


def first_layer_weights(network: Network) -> NDArray[np.float32] | None:
    """The weights of the layer that reads the planes, None if there is none that can be drawn.

    Returns:
        `[filters, PLANES, height, width]`; a dense layer has the whole board as its window.
    """
    layer = network.first_layer()
    if not isinstance(layer, nn.Conv2d | nn.Linear):
        return None
    weight: NDArray[np.float32] = layer.weight.detach().float().cpu().numpy()
    if isinstance(layer, nn.Linear):
        weight = weight.reshape(len(weight), -1, *network.encode.SHAPE)
    return weight


def plot_filters(path: Path, network: Network) -> None:
    """Draw the first layer's filters as a PNG: one image for each filter and plane, blue below 0, red above.

    With several planes each filter has a line of its own; with one, filters are side by side. Row 0 is the
    mover's own back row. A network without such a layer is not drawn.
    """
    from matplotlib.figure import Figure

    weights = first_layer_weights(network)
    if weights is None:
        return
    sheet = _sheet(weights[:MAX_FILTERS])
    height, width = sheet.shape[:2]
    cell = 0.12 if height < 100 else 0.06
    figure = Figure(figsize=(max(4.0, width * cell + 1), height * cell + 0.9), layout="constrained")
    axes = figure.subplots()
    largest = float(np.nanmax(np.abs(sheet))) or 1.0
    axes.imshow(sheet, cmap="RdBu_r", vmin=-largest, vmax=largest, interpolation="nearest")
    shown = min(len(weights), MAX_FILTERS)
    of = f"{shown} of {len(weights)} filters" if shown < len(weights) else f"{shown} filters"
    lines = ", one a line, one plane a column" if weights.shape[1] > 1 else ""
    window = f"{weights.shape[2]}x{weights.shape[3]}"
    axes.set_title(f"{network.architecture}: {of} of {window}{lines}", fontsize=8)
    axes.axis("off")
    _save(figure, path)


def plot_calibration(path: Path, breakdown: Mapping[str, Any], title: str) -> None:
    """Draw reliability diagrams and accuracy by phase and by pieces, as a PNG.

    Args:
        path: the file to write.
        breakdown: from `ckai.models.evaluation.metrics.Metrics.breakdown`.
        title: of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 8), layout="constrained")
    axes = figure.subplots(2, 2)
    _reliability(
        axes[0, 0], breakdown["policy_calibration"], "confidence", "right", 0.0,
        ("probability of the first legal move", "how often it was played"),
    )  # fmt: skip
    _reliability(
        axes[0, 1], breakdown["value_calibration"], "value", "z", -1.0,
        ("value", "mean result"),
    )  # fmt: skip
    for ax, key, label in ((axes[1, 0], "by_ply", "ply"), (axes[1, 1], "by_pieces", "pieces on the board")):
        groups = breakdown[key]
        names = [f"{g['from']}-{g['to']}" for g in groups]
        for metric, caption in (
            ("top1_legal", "first legal move"),
            ("top1_unforced", "the same where there is a choice"),
            ("random_legal", "a random legal move"),
        ):
            ax.plot(names, [g.get(metric, np.nan) for g in groups], marker="o", markersize=3, label=caption)
        ax.set_xlabel(label)
        ax.set_ylabel("share right")
        ax.set_ylim(0, 1)
        ax.tick_params(axis="x", labelrotation=60)
        ax.grid(alpha=0.3)
        ax.legend()
    figure.suptitle(title)
    _save(figure, path)


def _reliability(
    ax: Any, bins: Sequence[Mapping[str, float]], x: str, y: str, low: float, labels: tuple[str, str]
) -> None:
    ax.plot([low, 1], [low, 1], color="grey", linestyle="--", linewidth=1, label="perfect calibration")
    ax.plot([b[x] for b in bins], [b[y] for b in bins], marker="o")
    total = sum(b["rows"] for b in bins) or 1
    width = (1 - low) / 12
    heights = [b["rows"] / total * (1 - low) / 2 for b in bins]
    ax.bar([b[x] for b in bins], heights, width, bottom=low, alpha=0.25, label="share of rows")
    ax.set_xlabel(labels[0])
    ax.set_ylabel(labels[1])
    ax.grid(alpha=0.3)
    ax.legend()


def _sheet(weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """All filters in one image with gaps of NaN: a line for each filter, or rows if there is one plane."""
    filters, planes, height, width = weights.shape
    if planes == 1:
        lines = -(-filters // _ROW)
        cells = np.full((lines * _ROW, height, width), np.nan, np.float32)
        cells[:filters] = weights[:, 0]
        grid = cells.reshape(lines, _ROW, height, width)
    else:
        grid = weights
    out = np.full((grid.shape[0], height + 1, grid.shape[1], width + 1), np.nan, np.float32)
    out[:, :height, :, :width] = grid.transpose(0, 2, 1, 3)
    sheet: NDArray[np.float32] = out.reshape(grid.shape[0] * (height + 1), -1)
    return sheet


def _save(figure: Any, path: Path) -> None:
    save_figure(path, figure, 110)
