"""The generations and workers of a run as tables and lines of text."""

from typing import Any

from rich.console import Group
from rich.table import Table

from ckai.cli.shared.console import rows_table
from ckai.cli.shared.output import count_text

SHOWN = 12
"""Most generations, and workers, in a table."""
COLUMNS = {
    "generation": ("gen", ""),
    "games": ("games", ",d"),
    "drawn": ("drawn", ".0%"),
    "plies_mean": ("plies", ".0f"),
    "rows": ("rows", ",.0f"),
    "train_policy_loss": ("policy", ".3f"),
    "train_value_loss": ("value", ".3f"),
    "score": ("match", ".0%"),
    "gate": ("gate", ""),
    "elo": ("Elo", "+.0f"),
}
"""Columns of the table of generations."""
WORKERS = {
    "worker": ("worker", ""),
    "games": ("games", ""),
    "games_per_minute": ("games/min", ".1f"),
    "evaluations_per_second": ("eval/s", ",.0f"),
}
"""Columns of the table of workers."""


def generations_table(history: list[dict[str, Any]]) -> Table:
    """Return a table of the last generations, one per line.

    Args:
        history: measurements by generation, see `Run.history`.
    """
    from ckai.rl.run.report import elo_curve

    rows = []
    for measured, elo in zip(history, elo_curve(history), strict=True):
        played, learned, match = measured["selfplay"], measured["learn"], measured["match"]
        row = {**learned, **played, "generation": measured["generation"], "rows": learned["rows"]}
        row |= {
            "drawn": played["drawn"] / played["games"],
            "gate": "pass" if measured["accepted"] else "fail",
        }
        rows.append(row | ({"score": match["score"], "elo": elo} if match["games"] else {}))
    return rows_table(rows[-SHOWN:], COLUMNS, left=0, padding=(0, 1, 0, 0))


def workers_table(workers: dict[str, Any]) -> Group:
    """Return a table of the processes that play for the run; empty without any.

    Args:
        workers: `workers` of an event of self-play, see `ckai.rl.run.run`.
    """
    if not workers:
        return Group()
    rows = ({"worker": name, **worker} for name, worker in sorted(workers.items())[:SHOWN])
    return Group(rows_table(rows, WORKERS, padding=(0, 1, 0, 0)), count_text(len(workers), "worker"))


def generation_text(measured: dict[str, Any]) -> str:
    """Format the measurements of a finished generation, see `Run.history`, in one line."""
    played, learned, match = measured["selfplay"], measured["learn"], measured["match"]
    text = (
        f"generation {measured['generation']}: {count_text(played['games'], 'game')} in "
        f"{played['seconds']:.0f} s (Black won {played['black_won']}, drawn {played['drawn']}, "
        f"White won {played['white_won']}{_endings(played)}), "
        f"policy loss {learned['train_policy_loss']:.3f}, value loss {learned['train_value_loss']:.3f}"
    )
    if "workers" in played:
        text += f"; {_workers_text(played['workers'])}"
    if match["games"]:
        text += f", match +{match['wins']} ={match['draws']} -{match['losses']} ({match['score']:.1%})"
    return text + (": accepted" if measured["accepted"] else ": rejected, keeping the old network")


def _workers_text(counts: dict[str, Any]) -> str:
    """Format what workers did for a generation."""
    text = f"{count_text(counts['count'], 'worker')} played {count_text(counts['games'], 'game')}"
    return text + (f", {count_text(counts['refused'], 'shard')} left out" if counts["refused"] else "")


def _endings(played: dict[str, Any]) -> str:
    """Format how games ended other than by rule, and results that are from tablebases."""
    text = f", stopped {played['unknown']}" if played.get("unknown") else ""
    if played.get("adjudicated"):
        text += f"; {played['adjudicated'] / played['games']:.0%} adjudicated by tablebase"
    if "resigned" in played:
        text += f"; {played['resigned'] / played['games']:.0%} resigned"
        if played["played_out"]:
            text += f", wrong in {played['wrongly']} of {played['played_out']} that were played out"
    for generation, score in played.get("pool", {}).items():
        text += f"; +{score['won']} ={score['drawn']} -{score['lost']} against generation {generation}"
    return text
