"""`ckai export`: a network for other programs."""

from dataclasses import asdict
from pathlib import Path

import click

from ckai.cli.shared.output import json_option, print_json

FORMATS = ("onnx", "openvino", "torchscript")


@click.command("export")
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option("--to", type=click.Choice(FORMATS), default="onnx", show_default=True, help="The format.")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.  [default: CHECKPOINT with the format's ending]",
)
@json_option
def command(checkpoint: Path, to: str, output: Path | None, as_json: bool) -> None:
    """Write the network in CHECKPOINT for another program.

    The file is read again and compared with the network before it is kept. It takes rows of bytes, int8
    [B, width]: a position in the view of the side to move is 32 board values (1 own man, 3 own king, -1
    and -3 the other's, 0 empty), the index of the piece that must go on (-1: none), and the halfmove clock.
    """
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.export import SUFFIXES, export_network

    path = output or checkpoint.with_suffix(SUFFIXES[to])
    found = export_network(load_network(checkpoint), path, to)
    if as_json:
        print_json({**asdict(found), "path": str(found.path), "format": to})
        return
    click.echo(f"{path}: boards int8 [B, {found.width}] -> logits [B, 128], values [B]")
    click.echo(
        f"the same as the network on {found.positions} positions: probabilities within "
        f"{found.policy_error:.1g}, values within {found.value_error:.1g}"
    )
