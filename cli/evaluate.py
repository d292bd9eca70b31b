"""`ckai evaluate`: evaluate a network on held-out games."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import click

from ckai.cli.shared.options import PATH, data_option, json_option
from ckai.cli.shared.output import print_json
from ckai.models.pretrained import network_path

SIDES = {"heldout": "the held-out games", "train": "the training games", "all": "all games"}
"""What a split of `--split` is called in messages."""
SOLVED_VISITS = (50, 200, 600)
"""Visits of the searches that `--solved` measures where none are named."""
LABELS = {
    "rows": "rows",
    "top1": "top-1 accuracy",
    "top5": "  top-5",
    "top1_legal": "top-1 among legal moves",
    "top5_legal": "  top-5",
    "top1_unforced": "top-1 where there is a choice",
    "top1_unseen": "top-1 in unseen positions",
    "top1_legal_unseen": "  among legal moves",
    "random_legal": "accuracy of a random legal move",
    "forced": "rows with one legal move",
    "unseen": "rows with unseen positions",
    "illegal_top1": "top move is illegal",
    "illegal_probability": "probability on illegal moves",
    "policy_loss": "policy loss",
    "value_mse": "value, mean squared error",
    "value_mse_constant": "  of the best constant",
    "value_sign": "value has the winner's sign",
    "value_auc": "AUC of won against lost",
    "value_calibration_error": "value calibration error",
}
"""The metrics that are shown, in order."""
PHASES = {
    "range": ("plies", ""),
    "rows": ("rows", ",d"),
    "top1_legal": ("legal top-1", ".1%"),
    "top5_legal": ("legal top-5", ".1%"),
    "top1_unforced": ("choice", ".1%"),
    "random_legal": ("random", ".1%"),
    "value_mse": ("value", ".3f"),
    "value_auc": ("AUC", ".1%"),
}
"""Columns of the table of phases."""


@click.command("evaluate")
@click.argument("checkpoint", type=PATH)
@data_option("evaluate on")
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
    from ckai.cli.shared.console import print_rows
    from ckai.cli.shared.found import newest_rows, row_files
    from ckai.models.checkpoint import load_checkpoint
    from ckai.models.evaluation import evaluate_checkpoint

    checkpoint = network_path(checkpoint) if checkpoint.is_dir() else checkpoint
    if solved:
        if paths or split:
            raise click.UsageError("--solved has positions of its own; omit --data and --split")
        _evaluate_solved(checkpoint, visits or SOLVED_VISITS, as_json)
        return
    if visits:
        raise click.UsageError("expected --visits together with --solved, found no --solved")
    loaded = load_checkpoint(checkpoint)
    paths = paths or (newest_rows(),)
    evaluation = evaluate_checkpoint(loaded, row_files(*paths), split=split)
    data_text, side = ", ".join(map(str, paths)), SIDES[evaluation.split]
    if evaluation.other_data:
        names = ", ".join(dict.fromkeys(str(entry.get("name")) for entry in loaded.info["data"]))
        click.echo(
            f"ckai: the network was trained on {names}, not on {data_text}; evaluating {side}", err=True
        )
    elif evaluation.split != "train" and evaluation.learned is None and loaded.info.get("data"):
        some = f"some of {side} may be among them"
        click.echo(f"ckai: {checkpoint} does not say which games it learned; {some}", err=True)
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
    click.echo(metrics_text(evaluation.metrics, f"on {side} of {data_text}"))
    print_rows(({**each, "range": f"{each['from']}-{each['to']}"} for each in evaluation.by_ply), PHASES)


def metrics_text(metrics: Mapping[str, Any], title: str) -> str:
    """Format metrics, by name, as lines of text; unknown names are left out."""
    lines = [title]
    for name in filter(metrics.__contains__, LABELS):
        value = metrics[name]
        share = not any(word in name for word in ("loss", "mse", "error"))
        text = f"{value:,}" if isinstance(value, int) else f"{value:.1%}" if share else f"{value:.4f}"
        lines.append(f"  {LABELS[name]:<36}{text:>9}")
    return "\n".join(lines)


def _evaluate_solved(checkpoint: Path, visits: Sequence[int], as_json: bool) -> None:
    """Print the mistakes of a network on solved positions of its game."""
    from ckai.cli.shared.console import print_rows
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.analysis.solved import mistakes_of_network, solved_classes
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.games.registry import get_game

    loaded = load_checkpoint(checkpoint)
    spec = get_game(loaded.network().encode.GAME)
    classes = solved_classes(spec)
    found = mistakes_of_network(load_evaluator(checkpoint, game=spec.name), spec, visits, classes)
    if as_json:
        players = {
            player: {
                name: {**asdict(each), "share": each.share, "interval": each.interval}
                for name, each in by_class.items()
            }
            for player, by_class in found.items()
        }
        identity = {"checkpoint": str(checkpoint), "digest": loaded.digest, "game": spec.name}
        print_json({**identity, "players": players})
        return
    click.echo(f"mistakes of {checkpoint}: moves that give away a win or a draw, with 95 % intervals")
    rows: dict[str, dict[str, Any]] = {name: {"class": name} for name in classes}
    for player, by_class in found.items():
        for name, each in by_class.items():
            low, high = each.interval
            rows[name] |= {"positions": each.positions, player: f"{each.share:.1%} ({low:.1%} to {high:.1%})"}
    columns = {"class": ("", ""), "positions": ("positions", ",d"), **{each: (each, "") for each in found}}
    print_rows(rows.values(), columns)
