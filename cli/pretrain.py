"""`ckai pretrain`: train a network on the moves of games."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ckai.cli.shared.options import (
    data_option,
    given_settings,
    json_option,
    output_option,
    set_option,
    settings_options,
)
from ckai.cli.shared.output import count_text, print_json
from ckai.datasets.settings import change_settings
from ckai.models.training.config import PRESETS, PretrainConfig, preset_settings

if TYPE_CHECKING:
    from ckai.models.training.trainer import TrainingProgress


@click.command("pretrain")
@data_option("train on")
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    help="Use the network and training settings of a preset; other options override them.",
)
@set_option
@output_option(
    "Checkpoint to write; the run folder next to it (.run) lets an interrupted training continue.",
    Path("pretrained.ckpt"),
)
@settings_options(PretrainConfig)
@click.option(
    "--force",
    is_flag=True,
    help="Replace an existing checkpoint; discard an interrupted training with other settings.",
)
@json_option
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    preset: str | None,
    pairs: tuple[str, ...],
    output: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Train a network on the moves and results of games.

    Writes a checkpoint and prints its metrics on held-out games. After an interruption, the same command
    continues the training. An existing checkpoint is replaced only with --force.
    """
    from ckai.cli.evaluate import metrics_text
    from ckai.cli.shared.console import progress_bar, stderr_console
    from ckai.cli.shared.found import newest_rows, row_files
    from ckai.models.checkpoint import load_checkpoint
    from ckai.models.inference.backends import pick_device
    from ckai.models.network import parse_network_settings
    from ckai.models.training.pretrain import pretrain, run_folder

    chosen = preset_settings(preset, pick_device().type) if preset else {}
    config = change_settings(PretrainConfig(), chosen | given_settings(ctx))
    model = config.model
    if config.init:
        if preset or pairs or "model" in given_settings(ctx):
            raise click.UsageError("expected --init without --preset, --model and --set, found both")
        checkpoint = load_checkpoint(config.init)
        model = checkpoint.architecture
        config = replace(config, model=model, settings=checkpoint.settings)
    else:
        settings = config.settings if model == chosen.get("model", PretrainConfig().model) else {}
        config = replace(config, settings={**settings, **parse_network_settings(model, pairs)})
    paths = paths or (newest_rows(),)
    if config.weights and len(config.weights) != len(paths):
        raise click.UsageError(
            f"expected {len(paths)} --data-weight, one for each data set, found {len(config.weights)}"
        )
    of_path = [row_files(path) for path in paths]
    weighted = zip(config.weights, of_path, strict=False)  # a run's weight is that of each generation
    config = replace(config, weights=tuple(weight for weight, group in weighted for _ in group))
    console = stderr_console()
    console.print(f"{model} on {', '.join(map(str, paths))} -> {output}")
    try:
        with progress_bar("training", "batches", console) as update:

            def show(progress: "TrainingProgress") -> None:
                report, batches = progress.report, progress.batches
                detail = (
                    f"epoch {progress.epoch + 1}/{progress.epochs}, {progress.rows_per_second:,.0f} rows/s"
                )
                if report.get("train_policy_loss"):
                    detail += f", loss {report['train_policy_loss']:.3f}, top-1 {report['train_top1']:.1%}"
                done = progress.epoch * batches + progress.batch
                update(done, progress.epochs * batches, detail)

            files = [path for group in of_path for path in group]
            result = pretrain(files, output, config, force=force, progress=show, say=console.print)
    except KeyboardInterrupt:
        if (run_folder(output) / "last.ckpt").exists():
            console.print("run the same command again to continue")
        raise
    info = result.info
    if as_json:
        told = {"output": str(result.output), "run": str(result.run), "continued": result.continued}
        told |= {"model": model, "data": [str(path) for path in paths], "metrics": result.metrics}
        names = ("train_rows", "epochs", "best_epoch", "steps", "seconds")
        print_json(told | {name: info[name] for name in names})
        return
    if result.metrics:
        click.echo(metrics_text(result.metrics, "on held-out games"))
    epochs = count_text(info["epochs"], "epoch")
    click.echo(f"{result.output}: {model} after {epochs}, {info['seconds']:.0f} s")
