"""The metrics of training and evaluation as text."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from ckai.cli.shared.console import rows_table

_LABELS = [
    ("rows", "rows"),
    ("top1", "top-1 accuracy"),
    ("top5", "  top-5"),
    ("top1_legal", "top-1 among legal moves"),
    ("top5_legal", "  top-5"),
    ("top1_unforced", "top-1 where there is a choice"),
    ("top1_unseen", "top-1 in unseen positions"),
    ("top1_legal_unseen", "  among legal moves"),
    ("random_legal", "accuracy of a random legal move"),
    ("forced", "rows with one legal move"),
    ("unseen", "rows with unseen positions"),
    ("illegal_top1", "top move is illegal"),
    ("illegal_probability", "probability on illegal moves"),
    ("policy_loss", "policy loss"),
    ("value_mse", "value, mean squared error"),
    ("value_mse_constant", "  of the best constant"),
    ("value_sign", "value has the winner's sign"),
    ("value_auc", "AUC of won against lost"),
    ("value_calibration_error", "value calibration error"),
]


def metrics_table(metrics: Mapping[str, Any], title: str) -> str:
    """Format metrics as lines of text.

    Args:
        metrics: by name; unknown names are left out.
        title: the first line.
    """
    lines = [title]
    for name, label in _LABELS:
        if name in metrics:
            value = metrics[name]
            share = not any(word in name for word in ("loss", "mse", "error"))
            text = f"{value:,}" if isinstance(value, int) else f"{value:.1%}" if share else f"{value:.4f}"
            lines.append(f"  {label:<36}{text:>9}")
    return "\n".join(lines)


def phases_table(groups: Sequence[Mapping[str, Any]]) -> Table:
    """Return the metrics of phases, each with the plies `from` and `to` of its range, as a table."""
    columns = {
        "range": ("plies", ""),
        "rows": ("rows", ",d"),
        "top1_legal": ("top-1", ".1%"),
        "top5_legal": ("top-5", ".1%"),
        "top1_unforced": ("choice", ".1%"),
        "random_legal": ("random", ".1%"),
        "value_mse": ("value", ".3f"),
        "value_auc": ("AUC", ".1%"),
    }
    return rows_table(({**each, "range": f"{each['from']}-{each['to']}"} for each in groups), columns)
