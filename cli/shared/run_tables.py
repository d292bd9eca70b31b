"""The generations and workers of a run as tables and lines of text."""

from typing import Any

from rich.console import Group
from rich.table import Table

from ckai.cli.shared.console import make_table
from ckai.cli.shared.output import count_text

BARS, CURVE = "▁▂▃▄▅▆▇█", 60
"""Characters of the Elo curve, and its greatest length."""
SHOWN = 12
"""Most generations in the table."""
WIDE = 80
"""Columns of the terminal from which the table shows all its columns."""
DETAILS = ("tb", "q-z", "calib")
"""Columns left out on narrower terminals."""


def generations_table(history: list[dict[str, Any]], width: int = 80) -> Table:
    """Make a table of the last generations, one per line.

    Args:
        history: measurements by generation, see `Run.history`.
        width: columns of the terminal; below `WIDE` the `DETAILS` are left out.
    """
    from ckai.rl.run.report import elo_curve

    rows = []
    for measured, elo in zip(history, elo_curve(history), strict=True):
        played, learned, match = measured["selfplay"], measured["learn"], measured["match"]
        calibration = learned.get("heldout_value_calibration_error")
        rows.append(
            {
                "gen": str(measured["generation"]),
                "games": f"{played['games']:,}",
                "drawn": f"{played['drawn'] / played['games']:.0%}",
                "tb": f"{played.get('adjudicated', 0) / played['games']:.0%}",
                "plies": f"{played['plies_mean']:.0f}",
                "rows": f"{learned['rows']:,.0f}",
                "policy": f"{learned['train_policy_loss']:.3f}",
                "value": f"{learned['train_value_loss']:.3f}",
                "q-z": "" if played["q_z_mse"] is None else f"{played['q_z_mse']:.3f}",
                "calib": "" if calibration is None else f"{calibration:.3f}",
                "match": f"{match['score']:.0%}" if match["games"] else "",
                "gate": "pass" if measured["accepted"] else "fail",
                "Elo": f"{elo:+.0f}" if match["games"] else "",
            }
        )
    columns = [title for title in (rows[0] if rows else ()) if width >= WIDE or title not in DETAILS]
    table = make_table(*columns, left=0, padding=(0, 1, 0, 0))
    for row in rows[-SHOWN:]:
        table.add_row(*(row[title] for title in columns))
    return table


def workers_table(workers: dict[str, Any]) -> Group:
    """Make a table of the processes that play for the run; empty without any.

    Args:
        workers: `workers` of an event of self-play, see `ckai.rl.run.run`.
    """
    if not workers:
        return Group()
    table = make_table("worker", "games", "games/min", "eval/s", padding=(0, 1, 0, 0))
    for name, worker in sorted(workers.items())[:SHOWN]:
        rates = (f"{worker['games_per_minute']:.1f}", f"{worker['evaluations_per_second']:,.0f}")
        table.add_row(name, str(worker["games"]), *rates)
    return Group(table, count_text(len(workers), "worker"))


def elo_line(history: list[dict[str, Any]]) -> str:
    """Draw the Elo curve of the last generations in one line; empty without matches."""
    from ckai.rl.run.report import elo_curve

    curve = [0.0, *elo_curve(history)][-CURVE:]
    if not any(curve):
        return ""
    low, high = min(curve), max(curve)
    steps = [round((elo - low) / max(high - low, 1.0) * (len(BARS) - 1)) for elo in curve]
    return f"Elo {low:+.0f} to {high:+.0f}  {''.join(BARS[step] for step in steps)}"


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
