"""`ckai export`: export a network for other programs."""

from pathlib import Path

import click

from ckai.cli.shared.options import PATH, force_option, json_option, output_option
from ckai.cli.shared.output import print_json


@click.command("export")
@click.argument("checkpoint", type=PATH)
@output_option("File to write.  [default: named after CHECKPOINT]")
@force_option
@json_option
def command(checkpoint: Path, output: Path | None, force: bool, as_json: bool) -> None:
    """Export the network in CHECKPOINT as ONNX, for use by other programs.

    The file is kept only if its outputs match the network's.
    """
    from ckai.models.checkpoint import load_network
    from ckai.models.inference.export import POSITIONS, export_network

    path = output or checkpoint.with_suffix(".onnx")
    network = load_network(checkpoint, game=None)
    policy, value = export_network(network, path, force=force)
    width, actions = network.encode.position_bytes + network.encode.EXTRA, network.encode.NUM_ACTIONS
    if as_json:
        facts = {"path": str(path), "width": width, "actions": actions}
        print_json({**facts, "positions": POSITIONS, "policy_error": policy, "value_error": value})
        return
    click.echo(f"{path}: boards int8 [B, {width}] -> logits [B, {actions}], values [B]")
    click.echo(
        f"matches the network on {POSITIONS} positions: probabilities within {policy:.1g}, "
        f"values within {value:.1g}"
    )
