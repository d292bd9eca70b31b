"""`ckai evaluate`: evaluate a network on held-out games."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import click

from ckai.cli.shared.output import json_option, print_json, report_compilation
from ckai.cli.shared.row_files import data_option, row_files, row_files_text
from ckai.models.pretrained import network_path

SIDES = {"heldout": "the held-out games", "train": "the training games", "all": "all games"}
"""What a split of `--split` is called in messages."""
SOLVED_VISITS = (50, 200, 600)
"""Visits of the searches that `--solved` measures where none are named."""


@click.command("evaluate")
@click.argument("checkpoint", type=click.Path(path_type=Path))
@data_option("evaluate on", "those in data/ that the network was trained on")
@click.option(
    "--split",
    type=click.Choice(["heldout", "train", "all"]),
    help="Games to evaluate on.  [default: heldout, or all if the network was trained on other data]",
)
@click.option(
    "--solved",
    is_flag=True,
    help="Count moves that give away a win or a draw on solved positions, in a game that has some, by the "
    "bare policy and by searches.",
)
@click.option(
    "--visits",
    multiple=True,
    type=click.IntRange(1),
    help="Visits per search with --solved; may be repeated.  "
    f"[default: {', '.join(map(str, SOLVED_VISITS))}]",
)
@json_option
def command(
    checkpoint: Path,
    paths: tuple[Path, ...],
    split: Literal["heldout", "train", "all"] | None,
    solved: bool,
    visits: tuple[int, ...],
    as_json: bool,
) -> None:
    """Evaluate the network in CHECKPOINT on games it was not trained on, or on solved positions.

    CHECKPOINT may be the folder of a run: its best network.

    The data are split by game as in the network's training. "Unseen" positions are those that do not occur in
    the training games; they are left out for data that the network was not trained on.
    """
    checkpoint = network_path(checkpoint) if checkpoint.is_dir() else checkpoint
    if solved:
        others = {"--data": paths, "--split": split}
        for name, given in others.items():
            if given not in (None, ()):
                raise click.UsageError(
                    f"expected --solved without {name}, as it has its own positions, found both"
                )
        _evaluate_solved(checkpoint, visits or SOLVED_VISITS, as_json)
        return
    if visits:
        raise click.UsageError("expected --visits together with --solved, found no --solved")
    from ckai.cli.shared.console import print_table
    from ckai.cli.shared.metrics_text import metrics_table, phases_table
    from ckai.models.checkpoint import load_checkpoint
    from ckai.models.evaluation.evaluate import evaluate_checkpoint

    loaded = load_checkpoint(checkpoint)
    paths = paths or tuple(_own_data(loaded.info, checkpoint))
    files = _distinct_files(paths)
    evaluation = evaluate_checkpoint(loaded, files, split=split)
    data_text = row_files_text(paths)
    side = SIDES[evaluation.split]
    if evaluation.other_data:
        trained = f"the network was trained on {_names(loaded.info)}, not on {data_text}"
        click.echo(f"ckai: {trained}; evaluating {side}", err=True)
    elif evaluation.split != "train" and evaluation.learned is None and loaded.info.get("data"):
        click.echo(
            f"ckai: {checkpoint} does not say which games it learned; some of {side} may be among them",
            err=True,
        )
    elif evaluation.split == "heldout" and evaluation.learned:
        click.echo(f"ckai: the network has learned {evaluation.learned:,} of {side}", err=True)
    if as_json:
        told: dict[str, Any] = {"checkpoint": str(checkpoint), "digest": loaded.digest}
        told |= {"model": loaded.architecture, "data": [str(path) for path in paths], **vars(evaluation)}
        metrics = told.pop("metrics")
        print_json(told | metrics)
        return
    if evaluation.split != "all":
        side += f" (share {evaluation.heldout}, split seed {evaluation.split_seed})"
    click.echo(f"{loaded.architecture}: {evaluation.parameters:,} parameters")
    click.echo(f"digest: {loaded.digest}")
    click.echo(metrics_table(evaluation.metrics, f"on {side} of {data_text}"))
    print_table(phases_table(evaluation.by_ply))


def _distinct_files(paths: Sequence[Path]) -> list[Path]:
    """Return the row files of `--data`."""
    files = [path for group in row_files(paths) for path in group]
    path, times = Counter(path.resolve() for path in files).most_common(1)[0]
    if times > 1:
        raise click.UsageError(f"expected each file once, found {path} {times} times in --data")
    return files


def _own_data(info: Mapping[str, Any], checkpoint: Path) -> list[Path]:
    """Return the files in data/ or its run that a network was trained on; one that has grown since is one."""
    from ckai.datasets.reader import RowFile
    from ckai.datasets.schema import DatasetError

    rows = {entry.get("name"): entry.get("rows", 0) for entry in info.get("data") or ()}
    folders = Path("data"), checkpoint.parent, checkpoint.parent.parent
    there = [(name, folder / str(name)) for name in rows for folder in folders]
    found = [path for name, path in there if path.is_file() and RowFile(path).rows >= rows[name]]
    if not found:
        trained = f"was trained on {_names(info)}, none of it in data/" if rows else "does not name its data"
        raise DatasetError(f"{checkpoint}: expected --data with rows to evaluate on: it {trained}")
    click.echo(f"ckai: evaluating on {', '.join(map(str, found))}, as named in {checkpoint}", err=True)
    return found


def _names(info: Mapping[str, Any]) -> str:
    """The data that a network was trained on, as text."""
    every = list(dict.fromkeys(str(entry.get("name")) for entry in info["data"]))
    return ", ".join(every[:3]) + (f" and {len(every) - 3} more" if len(every) > 3 else "")


def _evaluate_solved(checkpoint: Path, visits: Sequence[int], as_json: bool) -> None:
    """Print the mistakes of a network on solved positions of its game."""
    from ckai.cli.shared.console import print_table, rows_table
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.games.connect4.mistakes import mistakes_of_network, solved_classes
    from ckai.rl.games.registry import get_game

    report_compilation()  # the searches compile
    loaded = load_checkpoint(checkpoint)
    spec = get_game(loaded.network().encode.GAME)
    classes = solved_classes(spec)
    found = mistakes_of_network(load_evaluator(checkpoint, game=spec.name), spec, visits, classes)
    plain = {
        player: {
            name: {**asdict(each), "share": each.share, "interval": each.interval}
            for name, each in by_class.items()
        }
        for player, by_class in found.items()
    }
    if as_json:
        identity = {"checkpoint": str(checkpoint), "digest": loaded.digest, "game": spec.name}
        print_json({**identity, "players": plain})
        return
    click.echo(f"mistakes of {checkpoint}: moves that give away a win or a draw, with 95 % intervals")
    rows = [
        {
            "class": name,
            "positions": next(iter(plain.values()))[name]["positions"],
            **{
                player: f"{each.share:.1%} ({100 * each.interval[0]:.1f} to {100 * each.interval[1]:.1f})"
                for player, by_class in found.items()
                for each in [by_class[name]]
            },
        }
        for name in classes
    ]
    columns = {"class": ("", ""), "positions": ("positions", ",d"), **{each: (each, "") for each in found}}
    print_table(rows_table(rows, columns))
