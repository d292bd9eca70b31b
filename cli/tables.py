"""`ckai tables`: build and probe endgame tablebases."""

import click

from ckai.cli.shared.options import json_option
from ckai.cli.shared.output import count_text, print_json, time_text

RATE = 1_000_000
"""Positions/s that a core solves, roughly."""


@click.group("tables")
def command() -> None:
    """Build and probe endgame tablebases."""


@command.command("build", short_help="Build tablebases of up to N pieces.")
@click.option(
    "--pieces",
    type=click.IntRange(2, 6),
    default=4,
    show_default=True,
    help="Largest number of pieces, both sides together.",
)
@click.option("--force", is_flag=True, help="Build them again, and replace the file.")
def build(pieces: int, force: bool) -> None:
    """Solve all positions with up to N pieces: win, loss or draw, and the distance in plies.

    The tables are kept in the user's cache folder, or in $CKAI_CACHE.
    """
    from ckai.cli.shared.console import print_rows, progress_bar
    from ckai.datasets.machine import available_cores, cache_folder
    from ckai.datasets.tables import build_tables, table_path
    from ckai.datasets.tables.index import make_layout, read_tables

    path = table_path(pieces, cache_folder())
    built = force or not path.exists()
    if built:
        threads, positions = available_cores(), make_layout(pieces).positions
        click.echo(
            f"building tablebases for up to {pieces} pieces, {positions:,} positions and as many bytes, in "
            f"{path}: about {time_text(positions / RATE / threads)} on {count_text(threads, 'thread')}",
            err=True,
        )
        with progress_bar("solving", "positions") as progress:
            header = build_tables(pieces, path, progress=progress)
    else:
        header = read_tables(path)[2]
    size, verdicts = path.stat().st_size, ("win", "loss", "draw")
    counts = {number: dict(zip(verdicts, each, strict=True)) for number, each in header["counts"].items()}
    click.echo(f"{path}: {size:,} bytes" + ("" if built else ", already built"))
    columns = {"pieces": ("pieces", ""), **{each: (each, ",d") for each in verdicts}}
    print_rows(({"pieces": number, **each} for number, each in counts.items()), columns)


@command.command("probe", short_help="Look up a position.")
@click.argument("fen")
@json_option
def probe(fen: str, as_json: bool) -> None:
    """Show the value of FEN for the side to move, its best moves, and best play to the end."""
    from ckai.datasets.tables import Tables
    from ckai.game import Position

    position = Position.from_fen(fen)
    tables = Tables.open()
    result = tables.probe(position)
    best = [str(move) for move in tables.best_moves(position)]
    line = [str(move) for move in tables.line(position)]
    if as_json:
        print_json({"value": result.value, "plies": result.plies, "best": best, "line": line})
        return
    side = "Black" if position.black else "White"
    text = {"win": "wins", "loss": "loses", "draw": "draws"}[result.value]
    click.echo(
        f"{side} {text}" + ("" if result.plies is None else f" in {count_text(result.plies, 'ply', 'plies')}")
    )
    if best:
        click.echo(f"best: {', '.join(best)}")
    if line:
        click.echo(f"PV: {' '.join(line)}")
