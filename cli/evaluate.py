"""`ckai evaluate`: how good a network is on rows."""

import json
from pathlib import Path
from typing import Literal

import click


@click.command("evaluate")
@click.argument("checkpoint", type=click.Path(path_type=Path))
@click.option(
    "--data",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Rows to measure on, a Parquet file; may be repeated.  [default: the newest data set in data/]",
)
@click.option(
    "--split",
    default="heldout",
    show_default=True,
    type=click.Choice(["heldout", "train", "all"]),
    help="Which games of the data.",
)
@click.option(
    "--heldout", type=float, help="Share of the games held out.  [default: as the network was trained]"
)
@click.option(
    "--split-seed", type=int, help="Which games are held out.  [default: as the network was trained]"
)
@click.option(
    "--memory-mb", default=1024, show_default=True, help="Memory for rows; a larger data set is streamed."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    checkpoint: Path,
    paths: tuple[Path, ...],
    split: Literal["heldout", "train", "all"],
    heldout: float | None,
    split_seed: int | None,
    memory_mb: int,
    as_json: bool,
) -> None:
    """Measure the network in CHECKPOINT on games it was not trained on.

    The data are split by game as they were when the network was trained. Shares are from 0 to 1; "unseen"
    positions are those that the training side of the data does not hold.
    """
    from ckai.cli.training import metrics_table
    from ckai.datasets.reader import newest_dataset
    from ckai.models.checkpoint import load_checkpoint
    from ckai.models.evaluate import evaluate_checkpoint

    files = list(paths) or [newest_dataset(Path("data"))]
    loaded = load_checkpoint(checkpoint)
    found = evaluate_checkpoint(
        loaded, files, split=split, split_seed=split_seed, heldout=heldout, memory_mb=memory_mb
    )
    where = {
        "checkpoint": str(checkpoint),
        "model": loaded.architecture,
        "data": [str(path) for path in files],
        "split": found.split,
        "split_seed": found.split_seed,
        "heldout": found.heldout,
    }
    if as_json:
        click.echo(json.dumps({**where, **found.metrics}))
        return
    sides = {"heldout": "the games held out", "train": "the training games", "all": "all games"}
    side = f"{sides[split]} (share {found.heldout}, split seed {found.split_seed})"
    click.echo(metrics_table(found.metrics, f"on {side} of {', '.join(map(str, files))}"))
