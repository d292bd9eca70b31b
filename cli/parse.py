"""`ckai parse`: convert PDN files to rows."""

import json
import time
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.output import json_option, report_compilation


@click.command("parse")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of rows to write.  [default: data/<name of the first file>.parquet]",
)
@click.option("--strict", is_flag=True, help="Stop at the first game with an error.")
@json_option
def command(files: tuple[Path, ...], output: Path | None, strict: bool, as_json: bool) -> None:
    """Convert the games of PDN files to rows for training.

    A game with an error keeps the legal moves before it. Incomplete games are listed, with line and reason,
    in <name>.refused.jsonl next to the rows.
    """
    from ckai.datasets.convert import parse_files

    report_compilation()
    output = output or Path("data") / f"{files[0].stem}.parquet"
    begun = time.perf_counter()
    with _Bar() as bar:
        tally = parse_files(files, output, strict=strict, progress=bar.update)
    seconds = time.perf_counter() - begun
    if as_json:
        click.echo(
            json.dumps(
                {
                    "games_read": tally.games_read,
                    "games_kept": tally.games_kept,
                    "games_truncated": tally.games_truncated,
                    "games_rejected": tally.games_rejected,
                    "plies": tally.plies,
                    "rows": tally.rows,
                    "output": str(tally.output),
                    "refused": str(tally.refused),
                    "seconds": round(seconds, 3),
                    "reasons": dict(tally.reasons),
                    "games_without_moves": tally.games_without_moves,
                    "result_conflicts": tally.result_conflicts,
                    "stray_words": tally.stray_words,
                }
            )
        )
        return
    click.echo(
        f"{tally.games_read:,} games read: {tally.games_kept:,} kept, {tally.games_truncated:,} truncated, "
        f"{tally.games_rejected:,} rejected"
    )
    for reason, count in tally.reasons.most_common():
        click.echo(f"  {count:,} {reason}")
    if tally.games_without_moves:
        click.echo(f"  {tally.games_without_moves:,} kept without moves, and so without rows")
    if tally.result_conflicts:
        click.echo(
            f"  {tally.result_conflicts:,} with a Result tag that contradicts the result after the moves "
            "(the latter is used)"
        )
    if tally.stray_words:
        click.echo(f"  {tally.stray_words:,} words outside of games skipped")
    where = click.format_filename(tally.output)
    click.echo(f"{tally.plies:,} plies, {tally.rows:,} rows in {where} ({seconds:.1f} s)")
    if tally.reasons:
        click.echo(f"incomplete games, with reasons: {click.format_filename(tally.refused)}")


class _Bar:
    """A progress bar on standard error, shown after one second."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: int, total: int, tally: Any) -> None:
        """Update the bar; see `ckai.datasets.convert.ProgressCallback`."""
        if self._bar is None:
            if time.monotonic() - self._begun < 1 or done >= total:
                return
            from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

            from ckai.cli.shared.output import stderr_console

            self._bar = Progress(
                TextColumn("reading"),
                BarColumn(bar_width=None),
                DownloadColumn(),
                TextColumn("{task.fields[games]} games"),
                TimeRemainingColumn(),
                console=stderr_console(),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=total, games="0")
        self._bar.update(self._task, completed=min(done, total), games=f"{tally.games_read:,}")
