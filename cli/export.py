"""`ckai export`: export a network for other programs."""

from pathlib import Path

import click

from ckai.cli.shared.options import PATH, force_option, output_option


@click.command("export")
@click.argument("checkpoint", type=PATH)
@click.option("--to", type=click.Choice(["onnx", "safetensors"]), default="onnx", show_default=True)
@output_option("File to write; folder of safetensors.  [default: named after CHECKPOINT]")
@force_option
def command(checkpoint: Path, to: str, output: Path | None, force: bool) -> None:
    """Export the network in CHECKPOINT for use by other programs.

    The file is kept only if its outputs match the network's. It says itself what its inputs and outputs are.
    Of safetensors, config.json and a model card, README.md, are next to it, in a folder as the Hugging Face
    Hub has it.
    """
    from ckai.models.checkpoint import load_checkpoint
    from ckai.models.inference.export import POSITIONS, SUFFIXES, export_network

    path = output or checkpoint.with_suffix("" if to == "safetensors" else SUFFIXES[to])
    if to == "safetensors" and path.suffix != SUFFIXES[to]:
        path /= "model.safetensors"
    source = load_checkpoint(checkpoint)
    network = source.network()
    policy, value = export_network(network, path, source=source, force=force)
    width, actions = network.encode.position_bytes + network.encode.EXTRA, network.encode.NUM_ACTIONS
    click.echo(f"{path}: boards int8 [B, {width}] -> logits [B, {actions}], values [B]")
    click.echo(
        f"matches the network on {POSITIONS} positions: probabilities within {policy:.1g}, "
        f"values within {value:.1g}"
    )
