"""`ckai evaluate`: evaluate a network on held-out games."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.options import PATH, data_option, json_option
from ckai.cli.shared.output import print_json
from ckai.models.pretrained import network_path

SOLVED_VISITS = (50, 200, 600)
"""Visits of the searches that `--solved` measures."""
LABELS = {
    "rows": "rows",
    "top1": "top-1 accuracy",
    "top5": "  top-5",
    "top1_legal": "top-1 among legal moves",
    "top5_legal": "  top-5",
    "top1_unforced": "top-1 where there is a choice",
    "top1_unseen": "top-1 in unseen positions",
    "random_legal": "accuracy of a random legal move",
    "illegal_top1": "top move is illegal",
    "policy_loss": "policy loss",
    "value_mse": "value, mean squared error",
    "value_mse_constant": "  of the best constant",
    "value_auc": "AUC of won against lost",
    "value_calibration_error": "value calibration error",
}
"""The metrics that are shown, in order."""


@click.command("evaluate")
@click.argument("checkpoint", type=PATH)
@data_option("evaluate on")
@click.option(
    "--solved",
    is_flag=True,
    help="Count moves that give away a win or a draw on solved positions, in a game that has some, by the "
    f"bare policy and by searches of {', '.join(map(str, SOLVED_VISITS))} visits.",
)
@json_option
def command(checkpoint: Path, paths: tuple[Path, ...], solved: bool, as_json: bool) -> None:
    """Evaluate the network in CHECKPOINT on games it was not trained on, or on solved positions.

    CHECKPOINT may be the folder of a run: its best network.

    The data are split by game as when the network was trained; where it learned none of them, all games
    count. "Unseen" positions occur in no game that it learned; for games that are all new to it their figures
    are left out.
    """
    from ckai.cli.shared.found import newest_rows, row_files
    from ckai.models.checkpoint import load_checkpoint
    from ckai.models.evaluation import evaluate_checkpoint

    checkpoint = network_path(checkpoint) if checkpoint.is_dir() else checkpoint
    if solved:
        if paths:
            raise click.UsageError("--solved has positions of its own; omit --data")
        _evaluate_solved(checkpoint, as_json)
        return
    loaded = load_checkpoint(checkpoint)
    paths = paths or (newest_rows(),)
    evaluation = evaluate_checkpoint(loaded, row_files(*paths))
    data_text = ", ".join(map(str, paths))
    side = "all games" if evaluation.split == "all" else "the held-out games"
    if evaluation.split == "all":
        names = ", ".join(dict.fromkeys(str(entry.get("name")) for entry in loaded.info["data"]))
        click.echo(
            f"ckai: the network was trained on {names}, not on {data_text}; evaluating {side}", err=True
        )
    elif evaluation.learned is None and loaded.info.get("data"):
        some = f"some of {side} may be among them"
        click.echo(f"ckai: {checkpoint} does not say which games it learned; {some}", err=True)
    elif evaluation.learned:
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


def metrics_text(metrics: Mapping[str, Any], title: str) -> str:
    """Format metrics, by name, as lines of text; unknown names are left out."""
    lines = [title]
    for name in filter(metrics.__contains__, LABELS):
        value = metrics[name]
        share = not any(word in name for word in ("loss", "mse", "error"))
        text = f"{value:,}" if isinstance(value, int) else f"{value:.1%}" if share else f"{value:.4f}"
        lines.append(f"  {LABELS[name]:<36}{text:>9}")
    return "\n".join(lines)


def _evaluate_solved(checkpoint: Path, as_json: bool) -> None:
    """Print the mistakes of a network on solved positions of its game."""
    from ckai.cli.shared.console import print_rows
    from ckai.models.checkpoint import load_checkpoint
    from ckai.rl.analysis.solved import mistakes_of_network, solved_classes
    from ckai.rl.evaluators.loading import load_evaluator
    from ckai.rl.games.registry import get_game

    loaded = load_checkpoint(checkpoint)
    spec = get_game(loaded.network().encode.GAME)
    classes = solved_classes(spec)
    found = mistakes_of_network(load_evaluator(checkpoint, game=spec.name), spec, SOLVED_VISITS, classes)
    if as_json:
        identity = {"checkpoint": str(checkpoint), "digest": loaded.digest, "game": spec.name}
        print_json({**identity, "players": found})
        return
    click.echo(f"mistakes of {checkpoint}: moves that give away a win or a draw, with 95 % intervals")
    rows: dict[str, dict[str, Any]] = {name: {"class": name} for name in classes}
    for player, by_class in found.items():
        for name, each in by_class.items():
            low, high = each["interval"]
            share = f"{each['share']:.1%} ({low:.1%} to {high:.1%})"
            rows[name] |= {"positions": each["positions"], player: share}
    columns = {"class": ("", ""), "positions": ("positions", ",d"), **{each: (each, "") for each in found}}
    print_rows(rows.values(), columns)
