"""`ckai export`: export a network for other programs."""

from dataclasses import asdict
from pathlib import Path

import click

from ckai.cli.shared.output import json_option, print_json

FORMATS = ("onnx", "openvino")


@click.command("export")
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option(
    "--to", type=click.Choice(FORMATS), default="onnx", show_default=True, help="Format to export to."
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.  [default: CHECKPOINT with the format's extension]",
)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@json_option
def command(checkpoint: Path, to: str, output: Path | None, force: bool, as_json: bool) -> None:
    """Export the network in CHECKPOINT for use by other programs.

    The file is kept only if its outputs match the network's. Its input is int8 [B, width], a position a row
    in the view of the side to move: 32 board values (1 own man, 3 own king, -1 and -3 the other's, 0 empty),
    the index of the piece that must continue a capture (-1: none), and the halfmove clock. In other games: a
    value for each square (1 own stone, -1 the other's, 0 empty), -1 and 0.
    """
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.export import SUFFIXES, export_network

    path = output or checkpoint.with_suffix(SUFFIXES[to])
    network = load_network(checkpoint, game=None)
    exported = export_network(network, path, to, force=force)
    if as_json:
        print_json({**asdict(exported), "path": str(exported.path), "format": to})
        return
    click.echo(f"{path}: boards int8 [B, {exported.width}] -> logits [B, {exported.actions}], values [B]")
    click.echo(
        f"matches the network on {exported.positions} positions: probabilities within "
        f"{exported.policy_error:.1g}, values within {exported.value_error:.1g}"
    )
