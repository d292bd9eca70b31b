"""`ckai pretrain`: a network from the moves of games."""

import json
from pathlib import Path
from typing import Any

import click

from ckai.models.config import PRECISIONS, LossConfig, OptimizerConfig, PretrainConfig, TrainConfig
from ckai.models.networks import shipped

_TRAIN = TrainConfig()
_PRE = PretrainConfig()


@click.command("pretrain")
@click.option(
    "--data",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Rows to learn from, a Parquet file; may be repeated.  [default: the newest data set in data/]",
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
@click.option("--epochs", default=_TRAIN.epochs, show_default=True, help="Times over the rows.")
@click.option("--batch-size", default=_TRAIN.batch_size, show_default=True)
@click.option("--lr", default=_TRAIN.optimizer.lr, show_default=True, help="Highest learning rate.")
@click.option("--weight-decay", default=_TRAIN.optimizer.weight_decay, show_default=True)
@click.option(
    "--value-weight",
    default=_TRAIN.loss.value_weight,
    show_default=True,
    help="Of the value's error in the loss.",
)
@click.option("--mask-illegal", is_flag=True, help="Leave illegal moves out of the loss.")
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
@click.option("--threads", type=click.IntRange(1), help="CPU threads.  [default: all cores]")
@click.option(
    "--memory-mb", default=1024, show_default=True, help="Memory for rows; a larger data set is streamed."
)
@click.option("--fresh", is_flag=True, help="Forget an earlier training with this output.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    paths: tuple[Path, ...],
    model: str,
    pairs: tuple[str, ...],
    output: Path,
    epochs: int,
    batch_size: int,
    lr: float,
    weight_decay: float,
    value_weight: float,
    mask_illegal: bool,
    patience: int,
    heldout: float,
    split_seed: int,
    seed: int,
    precision: str,
    threads: int | None,
    memory_mb: int,
    fresh: bool,
    as_json: bool,
) -> None:
    """Train a network on the moves and results of games.

    Writes a checkpoint and what was measured on games held out. Killed at any moment, the same command
    continues where it was.
    """
    import torch

    from ckai.cli.training import TrainingBar, metrics_table
    from ckai.datasets.reader import newest_dataset
    from ckai.models.pretrain import pretrain, run_folder
    from ckai.models.registry import ModelError, parse_settings

    if threads:
        torch.set_num_threads(threads)
    try:
        config = PretrainConfig(
            model=model,
            settings=parse_settings(model, list(pairs)),
            heldout=heldout,
            split_seed=split_seed,
            train=TrainConfig(
                epochs=epochs,
                batch_size=batch_size,
                patience=patience,
                seed=seed,
                precision=precision,
                loss=LossConfig(value_weight=value_weight, mask_illegal=mask_illegal),
                optimizer=OptimizerConfig(lr=lr, weight_decay=weight_decay),
            ),
        )
    except ModelError:
        raise
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    files = list(paths) or [newest_dataset(Path("data"))]
    with TrainingBar() as bar:
        bar.say(f"{model} on {', '.join(map(str, files))} -> {output}")
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
            "output": str(result.output),
            "run": str(result.run),
            "continued": result.continued,
            "model": result.config.model,
            "data": [str(path) for path in files],
            **{key: result.info[key] for key in ("train_rows", "epochs", "best_epoch", "steps", "seconds")},
            "metrics": result.metrics,
        }
        click.echo(json.dumps(found))
        return
    if result.metrics:
        click.echo(metrics_table(result.metrics, "on games held out"))
    click.echo(
        f"{result.output}: {model} after {result.info['epochs']} epochs, {result.info['seconds']:.0f} s"
    )
