"""`ckai parse`: convert PDN files to rows."""

import time
from pathlib import Path

import click

from ckai.cli.shared.options import PATH, force_option, json_option, output_option
from ckai.cli.shared.output import count_text, print_json


@click.command("parse")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@output_option("Rows to write, a name ending in .parquet.  [default: data/<name of the first file>.parquet]")
@force_option
@json_option
def command(files: tuple[Path, ...], output: Path | None, force: bool, as_json: bool) -> None:
    """Convert the games of PDN files to rows for training.

    FILE may be compressed (.gz, or .zip with .pdn files in it); - reads standard input. A game with an
    error keeps the legal moves before it. Incomplete games are listed, with line and reason, in
    <name>.refused.jsonl next to the rows.
    """
    from ckai.cli.shared.console import progress_bar
    from ckai.datasets.convert import parse_files
    from ckai.datasets.files import refuse_to_replace
    from ckai.game.jit import compiled
    from ckai.pdn.sources import source_stem

    output = output or Path("data") / f"{source_stem(files[0])}.parquet"
    refuse_to_replace(output, force)
    with progress_bar("reading", "bytes") as progress:
        begun, before = time.perf_counter(), compiled.seconds
        tally = parse_files(files, output, progress=progress)
        seconds = time.perf_counter() - begun - (compiled.seconds - before)
    for skipped in tally.without_games:
        click.echo(f"ckai: warning: {skipped}; the file is skipped", err=True)
    if as_json:
        told = vars(tally) | {"output": str(tally.output), "refused": str(tally.refused)}
        told["files_without_games"] = [error.path for error in told.pop("without_games")]
        print_json(told | {"seconds": round(seconds, 3)})
        return
    click.echo(
        f"{count_text(tally.games_read, 'game')} read: {tally.games_kept:,} kept, "
        f"{tally.games_truncated:,} truncated, {tally.games_rejected:,} rejected"
    )
    for reason, count in tally.reasons.most_common():
        click.echo(f"  {count:,} {reason}")
    counts = f"{count_text(tally.plies, 'ply', 'plies')}, {count_text(tally.rows, 'row')}"
    click.echo(f"{counts} in {click.format_filename(tally.output)} ({seconds:.1f} s)")
    if tally.reasons:
        click.echo(f"incomplete games, with reasons: {click.format_filename(tally.refused)}")
