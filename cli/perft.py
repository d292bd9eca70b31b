"""`ckai perft`: count the move paths from a position, to test the rules."""

import time
from typing import Any

import click

from ckai.cli.shared.output import json_option, print_json, report_compilation


@click.command("perft")
@click.option("--fen", help="Position to count from.  [default: the initial position]")
@click.option(
    "--depth", type=click.IntRange(0, 50), required=True, help="Depth in plies; a multi-jump is one ply."
)
@click.option("--divide", "divided", is_flag=True, help="Also print the count below each first move.")
@json_option
def command(fen: str | None, depth: int, divided: bool, as_json: bool) -> None:
    """Count the paths of DEPTH plies from a position.

    Two routes of a capture over different squares count as two paths, even if they take the same pieces.
    Draws by rule are ignored. From the initial position: 7, 49, 302, 1469, 7361, 36768, 179740, 845931.
    """
    from ckai.game import Position, divide, perft

    report_compilation()
    if divided and depth == 0:
        raise click.UsageError("--divide needs a --depth of 1 or more")
    position = Position.start() if fen is None else Position.from_fen(fen)
    divide(Position.start(), 4)  # compiled before the clock runs
    begun = time.perf_counter()
    by_move = {str(move): nodes for move, nodes in divide(position, depth).items()} if divided else {}
    nodes = sum(by_move.values()) if divided else perft(position, depth)
    seconds = time.perf_counter() - begun
    if as_json:
        result: dict[str, Any] = {
            "fen": position.fen,
            "depth": depth,
            "nodes": nodes,
            "seconds": round(seconds, 6),
        }
        if divided:
            result["divide"] = by_move
        print_json(result)
        return
    width = max([len(move) for move in by_move], default=0)
    for move, count in by_move.items():
        click.echo(f"{move:<{width}}  {count:>12,}")
    speed = f", {nodes / seconds / 1e6:.1f} M nodes/s" if nodes >= 1_000_000 and seconds else ""
    click.echo(f"depth {depth}: {nodes:,} nodes in {seconds:.3f} s{speed}")
