"""`ckai pretrain`: a network from the moves of games."""

import json
from pathlib import Path
from typing import Any

import click

from ckai.datasets import POSITIONS
from ckai.models.networks import shipped
from ckai.models.training.config import (
    OPTIMIZERS,
    PRECISIONS,
    SCHEDULES,
    LossConfig,
    OptimizerConfig,
    PretrainConfig,
    TrainConfig,
)
from ckai.models.training.presets import PRESETS

_TRAIN = TrainConfig()
_PRE = PretrainConfig()


def _take_preset(ctx: click.Context, param: click.Parameter, name: str | None) -> str | None:
    """What a preset says are defaults; options given by hand win."""
    if name is not None:
        ctx.default_map = {k: v for k, v in PRESETS[name].items() if k != "set"}
    return name


@click.command("pretrain")
@click.option(
    "--data",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Rows to learn from, a Parquet file; may be repeated.  [default: the newest data set in data/]",
)
@click.option(
    "--data-weight",
    "weights",
    multiple=True,
    type=float,
    help="How often an epoch goes over a data set, one for each --data: 2 is twice, 0.5 half of it.",
)
@click.option(
    "--positions",
    default=_PRE.positions,
    show_default=True,
    type=click.Choice(POSITIONS),
    help="Of repeated positions keep all rows, each move once, or one row with the shares of the moves.",
)
@click.option(
    "--preset",
    type=click.Choice(list(PRESETS)),
    is_eager=True,
    callback=_take_preset,
    help="A network and its training for a budget; other options win over it.",
)
@click.option("--model", default=_PRE.model, show_default=True, help=f"Network: {', '.join(shipped())}.")
@click.option(
    "--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting of the network; may be repeated."
)
@click.option(
    "-o",
    "--output",
    default="pretrained.ckpt",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Checkpoint to write; a run folder beside it (.run) lets a killed training continue.",
)
@click.option(
    "--epochs",
    default=_TRAIN.epochs,
    show_default=True,
    help="Times over the rows, for each stage of a network.",
)
@click.option("--batch-size", default=_TRAIN.batch_size, show_default=True)
@click.option(
    "--optimizer", "name", default=_TRAIN.optimizer.name, show_default=True, type=click.Choice(OPTIMIZERS)
)
@click.option("--lr", default=_TRAIN.optimizer.lr, show_default=True, help="Highest learning rate.")
@click.option(
    "--schedule",
    default=_TRAIN.optimizer.schedule,
    show_default=True,
    type=click.Choice(SCHEDULES),
    help="After the warm-up: down by a cosine, constant, or --decay times less an epoch.",
)
@click.option("--warmup", default=_TRAIN.optimizer.warmup, show_default=True, help="Share of the steps.")
@click.option("--decay", default=_TRAIN.optimizer.decay, show_default=True, help="Of the schedule decay.")
@click.option(
    "--momentum", default=_TRAIN.optimizer.momentum, show_default=True, help="Of the optimizer momentum."
)
@click.option("--weight-decay", default=_TRAIN.optimizer.weight_decay, show_default=True)
@click.option(
    "--clip", default=_TRAIN.optimizer.clip, show_default=True, help="Largest norm of the gradient; 0: any."
)
@click.option(
    "--value-weight",
    default=_TRAIN.loss.value_weight,
    show_default=True,
    help="Of the value's error in the loss.",
)
@click.option("--mask-illegal/--no-mask-illegal", help="Leave illegal moves out of the loss.")
@click.option(
    "--label-smoothing",
    default=_TRAIN.loss.label_smoothing,
    show_default=True,
    help="Share of the target spread over the legal moves.",
)
@click.option(
    "--ema",
    default=_TRAIN.ema,
    show_default=True,
    help="Keep the average of the weights with this decay a step, such as 0.999; 0: the last weights.",
)
@click.option(
    "--patience",
    default=_TRAIN.patience,
    show_default=True,
    help="Stop after so many epochs without progress on held-out games; 0: never.",
)
@click.option("--heldout", default=_PRE.heldout, show_default=True, help="Share of the games held out.")
@click.option("--split-seed", default=_PRE.split_seed, show_default=True, help="Which games are held out.")
@click.option("--seed", default=_TRAIN.seed, show_default=True, help="Of first weights and order.")
@click.option("--precision", default=_TRAIN.precision, show_default=True, type=click.Choice(PRECISIONS))
@click.option(
    "--compile", is_flag=True, help="Let torch.compile make the network faster; takes a minute first."
)
@click.option("--threads", type=click.IntRange(1), help="CPU threads.  [default: all cores]")
@click.option(
    "--memory-mb", default=1024, show_default=True, help="Memory for rows; a larger data set is streamed."
)
@click.option("--fresh", is_flag=True, help="Forget an earlier training with this output.")
@click.option("--find-lr", is_flag=True, help="Only look for a learning rate: a plot and a suggestion.")
@click.option(
    "--overfit",
    default=_TRAIN.overfit,
    metavar="BATCHES",
    help="Train and measure on so many batches only, to see that the network can learn.",
)
@click.option(
    "--fast-dev-run", is_flag=True, help="One batch of everything, to see that it runs; keeps nothing."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    paths: tuple[Path, ...],
    preset: str | None,
    model: str,
    pairs: tuple[str, ...],
    output: Path,
    threads: int | None,
    memory_mb: int,
    fresh: bool,
    find_lr: bool,
    fast_dev_run: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Train a network on the moves and results of games.

    Writes a checkpoint and what was measured on games held out. Killed at any moment, the same command
    continues where it was.
    """
    import torch

    from ckai.cli.shared.training import TrainingBar, metrics_table
    from ckai.datasets.reader import newest_dataset
    from ckai.models.registry import ModelError, parse_settings
    from ckai.models.training.pretrain import pretrain, run_folder, trial_run

    if threads:
        torch.set_num_threads(threads)
    settings = (
        PRESETS[preset].get("set", {}) if preset and model == PRESETS[preset].get("model", model) else {}
    )
    try:
        config = _config(model, {**settings, **parse_settings(model, list(pairs))}, options)
    except ModelError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    files = list(paths) or [newest_dataset(Path("data"))]
    if config.weights and len(config.weights) != len(files):
        raise click.UsageError(f"expected a --data-weight for each of {len(files)} data sets")
    if find_lr:
        _find_lr(files, output, config, memory_mb, as_json)
        return
    with TrainingBar() as bar:
        bar.say(f"{model} on {', '.join(map(str, files))} -> {'nothing' if fast_dev_run else output}")
        if fast_dev_run:
            result = trial_run(files, config, memory_mb=memory_mb, progress=bar.show, say=bar.say)
        else:
            try:
                result = pretrain(
                    files, output, config, fresh=fresh, memory_mb=memory_mb, progress=bar.show, say=bar.say
                )
            except KeyboardInterrupt:
                if (run_folder(output) / "last.ckpt").exists():
                    bar.say("the same command continues from the state saved last")
                raise
    if as_json:
        found: dict[str, Any] = {
            "output": None if fast_dev_run else str(result.output),
            "run": None if fast_dev_run else str(result.run),
            "continued": result.continued,
            "model": result.config.model,
            "data": [str(path) for path in files],
            **{key: result.info[key] for key in ("train_rows", "epochs", "best_epoch", "steps", "seconds")},
            "metrics": result.metrics,
        }
        click.echo(json.dumps(found))
        return
    if fast_dev_run:
        click.echo(f"{model}: one batch trained, saved, read and measured; nothing kept")
        return
    if result.metrics:
        where = "on the batches it was trained on" if config.train.overfit else "on games held out"
        click.echo(metrics_table(result.metrics, where))
    click.echo(
        f"{result.output}: {model} after {result.info['epochs']} epochs, {result.info['seconds']:.0f} s"
    )


def _config(model: str, settings: dict[str, Any], o: dict[str, Any]) -> PretrainConfig:
    """The options as settings; wrong values raise ValueError."""
    optimizer = ("name", "lr", "schedule", "warmup", "decay", "momentum", "weight_decay", "clip")
    train = ("epochs", "batch_size", "patience", "seed", "precision", "ema", "compile", "overfit")
    return PretrainConfig(
        model=model,
        settings=settings,
        heldout=o["heldout"],
        split_seed=o["split_seed"],
        positions=o["positions"],
        weights=o["weights"],
        train=TrainConfig(
            loss=LossConfig(**{key: o[key] for key in ("value_weight", "mask_illegal", "label_smoothing")}),
            optimizer=OptimizerConfig(**{key: o[key] for key in optimizer}),
            **{key: o[key] for key in train},
        ),
    )


def _find_lr(files: list[Path], output: Path, config: PretrainConfig, memory_mb: int, as_json: bool) -> None:
    from ckai.cli.shared.output import talk
    from ckai.models.training.find_lr import find_lr, plot_search

    talk().print(f"{config.model} on {', '.join(map(str, files))}: trying learning rates ...")
    found = find_lr(files, config, memory_mb=memory_mb)
    picture = output.with_suffix(".lr.png")
    plot_search(picture, found)
    if as_json:
        told = {"suggestion": found.suggestion, "lr": found.lr, "loss": found.loss, "plot": str(picture)}
        click.echo(json.dumps(told))
    else:
        click.echo(f"suggested: --lr {found.suggestion:.2g} (the curve is in {picture})")
