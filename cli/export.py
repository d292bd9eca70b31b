"""`ckai export`: export a network for other programs."""

from pathlib import Path

import click

from ckai.cli.shared.output import json_option, print_json

FORMATS = ("onnx", "safetensors")


@click.command("export")
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option(
    "--to",
    type=click.Choice(FORMATS),
    default="onnx",
    show_default=True,
    metavar="FORMAT",
    help=f"One of {', '.join(FORMATS)}.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="File to write; folder of safetensors.  [default: named after CHECKPOINT]",
)
@click.option("--force", is_flag=True, help="Replace existing files.")
@json_option
def command(checkpoint: Path, to: str, output: Path | None, force: bool, as_json: bool) -> None:
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
    encode = network.encode
    policy, value = export_network(network, path, source=source, force=force)
    width, actions = encode.position_bytes + encode.EXTRA, encode.NUM_ACTIONS
    if as_json:
        facts = {"path": str(path), "format": path.suffix[1:], "width": width, "actions": actions}
        print_json({**facts, "positions": POSITIONS, "policy_error": policy, "value_error": value})
        return
    click.echo(f"{path}: boards int8 [B, {width}] -> logits [B, {actions}], values [B]")
    if encode.EXTRA:
        click.echo(
            f"the bytes from {encode.position_bytes} on are made of those before by "
            f"ckai.models.encoding_type({network.settings.encoding!r})().append_extra(boards)"
        )
    click.echo(
        f"matches the network on {POSITIONS} positions: probabilities within {policy:.1g}, "
        f"values within {value:.1g}"
    )
