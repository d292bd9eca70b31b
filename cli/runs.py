"""`ckai runs`: compare the training and self-play runs under a folder."""

from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.options import PATH, force_option, json_option
from ckai.cli.shared.output import print_json

TRAINED = {
    "run": ("run", ""),
    "model": ("network", ""),
    "status": ("status", ""),
    "epochs": ("epochs", ""),
    "epoch": ("best", ".0f"),
    "heldout_top1": ("top-1", ".1%"),
    "heldout_top1_legal": ("legal", ".1%"),
    "heldout_top1_unforced": ("choice", ".1%"),
    "heldout_top5_legal": ("top-5 legal", ".1%"),
    "heldout_value_mse": ("value", ".3f"),
    "minutes": ("min", ".1f"),
}
PLAYED = {
    "path": ("self-play run", ""),
    "status": ("status", ""),
    "generations": ("gen", ""),
    "accepted": ("accepted", ""),
    "games": ("games", ",d"),
    "drawn": ("drawn", ".0%"),
    "train_policy_loss": ("policy", ".3f"),
    "train_value_loss": ("value", ".3f"),
    "elo": ("Elo", "+.0f"),
    "minutes": ("min", ".1f"),
}
"""Columns of the tables: the title and the format of each number."""


@click.command("runs")
@click.argument(
    "folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option(
    "--plot",
    type=PATH,
    metavar="FILE",
    help="Plot the self-play runs as PNG; of runs that differ in the seed alone, means and 95 % intervals.",
)
@force_option
@json_option
def command(folders: tuple[Path, ...], plot: Path | None, force: bool, as_json: bool) -> None:
    """Compare the training and self-play runs in and under each FOLDER: settings and results.

    Training runs are shown at their best epoch on held-out games: top-1 accuracy, the same among legal moves
    and where there is a choice, top-5 accuracy among legal moves, and the squared error of the value. Below
    each run are the settings that differ from the defaults. The Elo of a self-play run is the sum over
    the gate matches of accepted networks; drawn, policy and value are those of its last
    generation.
    """
    from ckai.datasets.files import refuse_to_replace
    from ckai.models.training.runs import find_runs
    from ckai.rl.run.run import Run
    from ckai.rl.run.runs import find_selfplay, plot_runs

    folders = folders or (Path(),)
    selfplay = [run for folder in folders for run in find_selfplay(folder)]
    if plot is not None:
        refuse_to_replace(plot, force)
        if not selfplay:
            raise click.UsageError(f"expected self-play runs to write {plot} from, found none")
        plot_runs(plot, [Run.open(each["path"]) for each in selfplay])
    trained: list[dict[str, Any]] = []
    played: list[dict[str, Any]] = []
    for run in (run for folder in folders for run in find_runs(folder)):
        told = {"model": run.model, "settings": run.changed, "epochs": len(run.history)}
        seconds = run.history[-1]["seconds"] if run.history else 0.0
        told |= {"finished": run.status == "finished", "status": run.status, "seconds": seconds}
        trained.append({"run": str(run.path), **told, "best": run.best})
    for each in selfplay:
        last = each["last"].get("selfplay", {})
        best = {"drawn": last["drawn"] / last["games"], **each["last"]["learn"]} if last else {}
        told = {**each, "path": str(each["path"]), "best": best}
        played.append({**told, "settings": told.pop("changed")})
    if as_json:
        print_json({"runs": trained, "selfplay": played})
        return
    if not trained and not played:
        click.echo(
            f"no training or self-play runs under {', '.join(map(str, folders))}; start one with "
            "`ckai pretrain` or `ckai selfplay`"
        )
    _print(trained, TRAINED, left=3)
    _print(played, PLAYED, left=2)


def _print(runs: list[dict[str, Any]], columns: dict[str, tuple[str, str]], left: int) -> None:
    """Print a table of runs, and the settings of each that differ from the defaults."""
    if not runs:
        return
    from ckai.cli.shared.console import print_rows

    print_rows(({**run["best"], **run, "minutes": run["seconds"] / 60} for run in runs), columns, left)
    for run in runs:
        if run["settings"]:
            changed = " ".join(f"{key}={value}" for key, value in run["settings"].items())
            click.echo(f"  {run[next(iter(columns))]}: {changed}")
