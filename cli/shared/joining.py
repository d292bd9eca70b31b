"""`ckai selfplay --join`: play games for a run of another process."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckai.cli.shared.output import count_text, print_json, report_compilation, stderr_console
from ckai.cli.shared.tables import ensure_tables
from ckai.datasets.machine import available_cores

if TYPE_CHECKING:
    from ckai.rl.leases.workers import Heartbeat


def join_run(folder: Path, evaluator: str, threads: int, as_json: bool) -> None:
    """Play games for a run until it has all its generations.

    Args:
        folder: folder of the run.
        evaluator: evaluator backend.
        threads: threads that play; 0: one per core.
        as_json: print the result as JSON.
    """
    from ckai.rl.loop.joining import join
    from ckai.rl.loop.run import Run

    ensure_tables(Run.open(folder).config.selfplay.tables)
    report_compilation()
    console = stderr_console()
    with console.status(f"{folder}: waiting for games to play") as status:

        def show(heartbeat: "Heartbeat") -> None:
            if heartbeat.evaluator:
                games = count_text(heartbeat.games, "game")
                status.update(f"{folder}: {games}, {heartbeat.evaluations_per_second:,.0f} eval/s")

        heartbeat = join(
            folder,
            backend=evaluator,
            threads=threads or available_cores(),
            on_report=lambda line: console.print(line, markup=False),
            on_heartbeat=show,
        )
    if as_json:
        print_json({"run": str(folder), "games": heartbeat.games, "evaluator": heartbeat.evaluator})
    else:
        click.echo(f"{folder}: played {count_text(heartbeat.games, 'game')}; the run has all its generations")
