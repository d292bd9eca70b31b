"""`ckai perft`: count the move paths from a position, to test the rules."""

import time

import click

from ckai.cli.shared.options import json_option
from ckai.cli.shared.output import count_text, print_json


@click.command("perft")
@click.option("--fen", help="Position to count from.  [default: the initial position]")
@click.option(
    "--depth", type=click.IntRange(0, 50), required=True, help="Depth in plies; a multi-jump is one ply."
)
@json_option
def command(fen: str | None, depth: int, as_json: bool) -> None:
    """Count the paths of DEPTH plies from a position.

    Two routes of a capture over different squares count as two paths, even if they take the same pieces.
    Draws by rule are ignored. From the initial position: 7, 49, 302, 1469, 7361, 36768, 179740, 845931.
    """
    from ckai.game import Position, perft

    position = Position.start() if fen is None else Position.from_fen(fen)
    perft(Position.start(), 4)  # compiled before the clock runs
    begun = time.perf_counter()
    nodes = perft(position, depth)
    seconds = time.perf_counter() - begun
    if as_json:
        print_json({"fen": position.fen, "depth": depth, "nodes": nodes, "seconds": round(seconds, 6)})
        return
    speed = f", {nodes / seconds / 1e6:.1f} M nodes/s" if nodes >= 1_000_000 and seconds else ""
    click.echo(f"depth {depth}: {count_text(nodes, 'node')} in {seconds:.3f} s{speed}")
