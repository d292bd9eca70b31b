"""Reliability diagrams of a network's outputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ckai.datasets.files import save_figure


def plot_calibration(path: Path, breakdown: Mapping[str, Any], title: str) -> None:
    """Draw reliability diagrams of the policy and the value, as a PNG.

    Args:
        path: the file to write.
        breakdown: from `ckai.models.evaluation.metrics.Metrics.breakdown`.
        title: of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 5), layout="constrained")
    policy, value = figure.subplots(1, 2)
    _reliability(policy, breakdown["policy_calibration"], "confidence", "right", 0.0)
    policy.set(xlabel="probability of the first legal move", ylabel="how often it was played")
    _reliability(value, breakdown["value_calibration"], "value", "z", -1.0)
    value.set(xlabel="value", ylabel="mean result")
    figure.suptitle(title)
    save_figure(path, figure, 110)


def _reliability(ax: Any, bins: Sequence[Mapping[str, float]], x: str, y: str, low: float) -> None:
    ax.plot([low, 1], [low, 1], color="grey", linestyle="--", linewidth=1, label="perfect calibration")
    ax.plot([b[x] for b in bins], [b[y] for b in bins], marker="o")
    total = sum(b["rows"] for b in bins) or 1
    heights = [b["rows"] / total * (1 - low) / 2 for b in bins]
    ax.bar([b[x] for b in bins], heights, (1 - low) / 12, bottom=low, alpha=0.25, label="share of rows")
    ax.grid(alpha=0.3)
    ax.legend()
