"""`ckai runs`: compare the training and self-play runs under a folder."""

import shutil
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ckai.cli.shared.output import force_option, json_option, print_json


@click.command("runs")
@click.argument(
    "folders", nargs=-1, metavar="[FOLDER]...", type=click.Path(path_type=Path, exists=True, file_okay=False)
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
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
    runs = [run for folder in folders for run in find_runs(folder)]
    selfplay = [run for folder in folders for run in find_selfplay(folder)]
    if plot is not None:
        refuse_to_replace(plot, force)
        if not selfplay:
            raise click.UsageError(f"expected self-play runs to write {plot} from, found none")
        plot_runs(plot, [Run.open(each.path) for each in selfplay])
    if as_json:
        print_json(
            {
                "runs": [
                    {
                        "run": str(run.path),
                        "model": run.model,
                        "settings": run.changed,
                        "epochs": len(run.history),
                        "finished": run.status == "finished",
                        "status": run.status,
                        "seconds": run.seconds,
                        "best": run.best,
                    }
                    for run in runs
                ],
                "selfplay": [{**asdict(run), "path": str(run.path)} for run in selfplay],
            }
        )
        return
    if not runs and not selfplay:
        click.echo(
            f"no training or self-play runs under {', '.join(map(str, folders))}; start one with "
            "`ckai pretrain` or `ckai selfplay`"
        )
        return
    if runs:
        _print_table(folders, runs)
    if selfplay:
        _print_selfplay(folders, selfplay)


def _name(folders: tuple[Path, ...], path: Path) -> str:
    """Return the path of a run as it is shown: relative to the folder, if there is but one above it."""
    return str(path.relative_to(folders[0]) if len(folders) == 1 and path != folders[0] else path)


def _print_table(folders: tuple[Path, ...], runs: list[Any]) -> None:
    shares = ("heldout_top1", "heldout_top1_legal", "heldout_top1_unforced", "heldout_top5_legal")
    rows = []
    for run in runs:
        best = run.best
        texts = [f"{best[key]:.1%}" if key in best else "" for key in shares]
        rows.append(
            {
                "run": _name(folders, run.path.with_suffix("")),
                "network": run.model,
                "status": run.status,
                "epochs": str(len(run.history)),
                "best": f"{best['epoch']:.0f}" if best else "",
                **dict(zip(("top-1", "legal", "choice", "top-5"), texts, strict=True)),
                "value": f"{best['heldout_value_mse']:.3f}" if "heldout_value_mse" in best else "",
                "min": f"{run.seconds / 60:.1f}",
            }
        )
    _print_rows(rows, [run.changed for run in runs], left=3)


def _print_selfplay(folders: tuple[Path, ...], runs: list[Any]) -> None:
    rows = []
    for run in runs:
        played, learned = run.last.get("selfplay", {}), run.last.get("learn", {})
        rows.append(
            {
                "self-play run": _name(folders, run.path),
                "status": run.status,
                "gen": f"{run.generations}" + ("" if run.status == "finished" else f"/{run.target}"),
                "accepted": str(run.accepted),
                "games": f"{run.games:,}",
                "drawn": f"{played['drawn'] / played['games']:.0%}" if played else "",
                "policy": f"{learned['train_policy_loss']:.3f}" if learned else "",
                "value": f"{learned['train_value_loss']:.3f}" if learned else "",
                "Elo": "" if run.elo is None else f"{run.elo:+.0f}",
                "min": f"{run.seconds / 60:.1f}",
            }
        )
    _print_rows(rows, [run.changed for run in runs], left=2)


def _print_rows(rows: list[dict[str, str]], changed: list[dict[str, Any]], left: int) -> None:
    """Print a table, below each row the settings that differ from the defaults.

    Args:
        rows: texts of each row by the titles of the columns.
        changed: settings of each row.
        left: columns that are aligned to the left, from the first; the others are to the right.
    """
    titles = rows[0].keys()
    widths = [max(map(len, column)) for column in zip(titles, *(row.values() for row in rows), strict=True)]

    def line(texts: Iterable[str]) -> str:
        cells = zip(texts, widths, strict=True)
        parts = [text.ljust(w) if n < left else text.rjust(w) for n, (text, w) in enumerate(cells)]
        return " ".join(parts).rstrip()

    screen = shutil.get_terminal_size().columns if sys.stdout.isatty() else 200
    click.echo(line(titles))
    for row, settings in zip(rows, changed, strict=True):
        click.echo(line(row.values()))
        text = " ".join(f"{key}={value}" for key, value in settings.items())
        for part in textwrap.wrap(text, max(40, screen - 1), initial_indent="    ", subsequent_indent="    "):
            click.echo(part)
