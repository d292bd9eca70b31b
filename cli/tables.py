"""`ckai tables`: build and probe endgame tablebases."""

from typing import Any

import click

from ckai.cli.shared.output import count_text, json_option, print_json
from ckai.cli.shared.tables import build_with_progress


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
@json_option
def build(pieces: int, force: bool, as_json: bool) -> None:
    """Solve all positions with up to N pieces: win, loss or draw, and the distance in plies.

    The tables are kept in the user's cache folder, or in $CKAI_CACHE.
    """
    from ckai.datasets.machine import cache_folder
    from ckai.datasets.tables import table_path
    from ckai.datasets.tables.file import read_tables

    path = table_path(pieces, cache_folder())
    header: dict[str, Any] | None = None
    if path.exists() and not force:
        header = read_tables(path)[2]
    built = header is None
    if header is None:
        header = build_with_progress(pieces, path)
    if header["pieces"] != pieces:
        raise ValueError(
            f"{path}: expected tables of {pieces} pieces, found {header['pieces']}; rebuild them with --force"
        )
    size, verdicts = path.stat().st_size, ("win", "loss", "draw")
    counts = {number: dict(zip(verdicts, each, strict=True)) for number, each in header["counts"].items()}
    if as_json:
        print_json({"output": str(path), "built": built, "bytes": size, "counts": counts})
        return
    from ckai.cli.shared.console import print_table, rows_table

    click.echo(f"{path}: {size:,} bytes" + ("" if built else ", already built"))
    columns = {"pieces": ("pieces", ""), **{each: (each, ",d") for each in verdicts}}
    print_table(rows_table(({"pieces": number, **each} for number, each in counts.items()), columns))


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
