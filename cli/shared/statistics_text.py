"""Statistics of games as text."""

from typing import TYPE_CHECKING

from ckai.cli.shared.output import count_text

if TYPE_CHECKING:
    from ckai.datasets.statistics import Statistics


def as_text(statistics: "Statistics", names: str) -> str:
    """Format the statistics of data sets with these names as text, at most 80 columns wide."""
    lengths = statistics.lengths
    lines = [names]

    def line(label: str, text: str) -> None:
        lines.append(f"  {label:<22}{text}")

    def share(part: int, whole: int) -> str:
        return f"{part:,} ({part / whole:.1%})" if whole else f"{part:,}"

    line("games", f"{statistics.games:,}")
    for name, label in (
        ("black", "  Black won"),
        ("white", "  White won"),
        ("drawn", "  drawn"),
        ("unknown", "  result unknown"),
    ):
        if statistics.results[name] or name != "unknown":
            line(label, share(statistics.results[name], statistics.games))
    line("plies", f"{statistics.plies:,}")
    line(
        "  in a game",
        f"{lengths.least} to {lengths.most}, mean {lengths.mean:.1f}, median {lengths.median:g}",
    )
    line("  captures", share(statistics.capture_plies, statistics.plies))
    line("  of two or more", share(statistics.multi_jumps, statistics.plies))
    line("  by kings", share(statistics.king_plies, statistics.plies))
    line("crownings", f"{statistics.crownings:,}")
    line("rows", f"{statistics.rows:,}, one per hop")
    line("  forced", share(statistics.forced_rows, statistics.rows))
    line("  legal hops", f"{statistics.legal_hops:.2f} on average")
    line("positions", f"{statistics.positions:,} distinct")
    line("  repeated rows", share(statistics.rows_repeated, statistics.rows))
    if (headers := statistics.headers) is not None:
        line("headers", f"of {count_text(headers['games'], 'game')}")
        for kind in ("players", "events", "openings"):
            line(f"  {kind}", f"{headers[kind]:,}")
    return "\n".join(lines)
